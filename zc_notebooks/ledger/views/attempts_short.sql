-- The same attempts under the short names of a simple usage log. Skips are no attempts and stay out.
-- "in" is a reserved word: write it in double quotes.
select
    t,
    provider_ref as provider,
    model,
    input_tokens as "in",
    output_tokens as "out",
    secs,
    status,
    attempt,
    failover
from attempts
where kind = 'attempt'
