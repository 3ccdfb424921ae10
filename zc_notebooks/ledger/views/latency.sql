-- How long providers take: one row per provider and model, over the whole period.
--
-- answers       attempts that gave an answer, good or not; failures: attempts that did not, cancelled ones left out
-- p50_s, p95_s  seconds from the request to the end of an answer; NULL: there is none whose length is known
-- first_*       streams: seconds from the request to the first thing shown; NULL: no stream showed anything
-- failed_p50_s  seconds until a failure was known; NULL: none failed
select
    provider_ref,
    model,
    count(*) filter (status in ('ok', 'empty')) as answers,
    quantile_cont(secs, 0.5) filter (status in ('ok', 'empty')) as p50_s,
    quantile_cont(secs, 0.95) filter (status in ('ok', 'empty')) as p95_s,
    quantile_cont(first_token_s, 0.5) filter (status in ('ok', 'empty')) as first_p50_s,
    quantile_cont(first_token_s, 0.95) filter (status in ('ok', 'empty')) as first_p95_s,
    count(*) filter (status not in ('ok', 'empty', 'cancelled')) as failures,
    quantile_cont(secs, 0.5) filter (status not in ('ok', 'empty', 'cancelled')) as failed_p50_s
from attempts
where kind = 'attempt'
group by provider_ref, model
