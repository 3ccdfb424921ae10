-- Money and tokens: one row per provider, model and day (UTC).
--
-- attempts      and how many of them were accepted or rejected; skips cost nothing and stay out
-- *_tokens      sums of what is known; NULL: no part is known, or no such sum can be
-- *_usd         US dollars, sums of what is known; NULL: no part is known
-- unpriced      attempts whose cost or usage is not known (a refusal is a known zero)
-- at_least      true: there are such attempts and cost_usd is a lower bound
with priced as (
    select
        *,
        make_timestamp(epoch_us(t))::date as day,
        starts_with(status, 'http_') as refusal,
        -- Decimals, so that sums do not depend on their order. A price of a billion is a mistake, and not known.
        try_cast(case when refusal and cost_usd is null then 0 when abs(cost_usd) <= 1e9 then cost_usd end
            as decimal(38, 12)) as usd,
        not refusal and (usd is null or input_tokens is null or output_tokens is null) as unknown
    from attempts
    where kind = 'attempt'
)
select
    provider_ref,
    model,
    day,
    count(*) as attempts,
    count(*) filter (accepted) as accepted,
    count(*) filter (not accepted) as rejected,
    try_cast(sum(input_tokens) as bigint) as input_tokens,
    try_cast(sum(cached_input_tokens) as bigint) as cached_input_tokens,
    try_cast(sum(output_tokens) as bigint) as output_tokens,
    try_cast(sum(reasoning_tokens) as bigint) as reasoning_tokens,
    sum(usd) filter (accepted) as accepted_usd,
    sum(usd) filter (not accepted) as rejected_usd,
    sum(usd) as cost_usd,
    count(*) filter (unknown) as unpriced,
    unpriced > 0 as at_least
from priced
group by provider_ref, model, day
