-- What the rows allow to say about a day's allowance: one row per pool, credential and model.
--
-- Days are UTC days; where a quota turns at another hour the figures are those of the days as cut here. Only what went
-- through this ledger is seen: a key that is used elsewhere too runs out sooner.
--
-- answers_today, tokens_today   answered so far; tokens in and out, NULL: not known
-- tokens_at_least               true: the tokens of some attempt are not known
-- days, days_out                days with attempts before today, and those of them that ended in a day's limit
-- out_after_answers, _tokens    median over days_out of what such a day gave; NULL: it never ran out
-- most_answers                  the most a day before today has given: at least this much is possible
-- answers_left, tokens_left     out_after_* less today's, not below 0: an estimate; NULL: nothing to estimate from
-- out_until                     latest reset a refusal or skip stated and that lies ahead; NULL: none, or answered since
--
-- "Now" is the variable of that name where one is set (set variable now = timestamptz '…'), else the clock.
with clock as (select coalesce(cast(getvariable('now') as timestamptz), now()) as now),
days as (
    select
        pool, credential_id, model,
        make_timestamp(epoch_us(t))::date as day,
        min(provider_ref) as provider_ref,
        max(tier) as tier,
        count(*) filter (status in ('ok', 'empty')) as answers,
        try_cast(sum(input_tokens::hugeint + output_tokens) filter (kind = 'attempt') as bigint) as tokens,
        bool_or(kind = 'attempt' and not starts_with(status, 'http_')
            and (input_tokens is null or output_tokens is null)) as unknown,
        bool_or(kind = 'attempt' and reason in ('daily_limit', 'token_daily_limit')) as ran_out,
        bool_or(kind = 'attempt') as asked,
        max(resets_at) filter (reset_source in ('stated', 'inferred')
            and reason in ('minute_limit', 'token_daily_limit', 'daily_limit', 'balance')) as resets_at,
        max(t) filter (resets_at is not null and status not in ('ok', 'empty')) as out_at,
        max(t) filter (status in ('ok', 'empty')) as ok_at
    from attempts
    group by pool, credential_id, model, day
),
dated as (select *, make_timestamp(epoch_us(now))::date as today, now from days cross join clock),
summed as (
    select
        pool, credential_id, model,
        min(provider_ref) as provider_ref,
        max(tier) as tier,
        coalesce(sum(answers) filter (day = today), 0)::bigint as answers_today,
        try_cast(case when bool_or(day = today and asked) then sum(tokens) filter (day = today) else 0 end as bigint)
            as tokens_today,
        coalesce(bool_or(unknown) filter (day = today), false) as tokens_at_least,
        count(*) filter (day < today and asked) as days,
        count(*) filter (day < today and ran_out) as days_out,
        median(answers) filter (day < today and ran_out) as out_after_answers,
        median(tokens) filter (day < today and ran_out) as out_after_tokens,
        max(answers) filter (day < today and asked) as most_answers,
        if(max(ok_at) >= max(out_at), null, max(resets_at) filter (resets_at > now)) as out_until
    from dated
    group by pool, credential_id, model
)
select
    pool, credential_id, model, provider_ref, tier, answers_today, tokens_today, tokens_at_least, days, days_out,
    out_after_answers, out_after_tokens, most_answers,
    case when out_after_answers is not null then greatest(out_after_answers - answers_today, 0) end as answers_left,
    case when out_after_tokens - tokens_today is not null then greatest(out_after_tokens - tokens_today, 0) end
        as tokens_left,
    out_until
from summed
