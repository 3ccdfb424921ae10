-- One row per episode of a credential being out: a minute, day or token quota, or its balance.
--
-- model         the model it is out for; NULL: the whole credential, all models of its pool
-- kind          the gravest reason seen: minute_limit < token_daily_limit < daily_limit < balance
-- begin_at      first attempt that was refused for it, or first skip (UTC)
-- last_at       last time it was seen to be out
-- back_at       the reset that held at last_at; NULL: not known
-- reset_source  where back_at is from: stated, inferred (the provider's known rule), assumed (a minute limit is over
--               after a minute); NULL: back_at is not known. Guessed ends of cooldowns count for nothing here.
-- end_at        when it was over; NULL: still out. After a success, it may have been back sooner: since last_at.
-- ended_by      success (an answer came), reset (back_at passed before any), still out
-- out_s         seconds from begin_at to end_at, to now when still out
-- calls         calls that were turned away; refused and skipped: their attempts and skips
--
-- Episodes of one line (pool, credential, model) never overlap: the next begins after an answer or after back_at.
-- "Now" is the variable of that name where one is set (set variable now = timestamptz '…'), else the clock.
with away as not materialized (
    select
        pool, credential_id, case when scope = 'model' then model end as model, provider_ref, t, kind, reason,
        hash(call_id) as call,
        case
            when resets_at > t and coalesce(reset_source, 'stated') <> 'guessed' then resets_at
            when reason = 'minute_limit' then t + interval 1 minute
        end as back_at,
        case
            when resets_at > t and coalesce(reset_source, 'stated') <> 'guessed' then coalesce(reset_source, 'stated')
            when reason = 'minute_limit' then 'assumed'
        end as reset_source
    from attempts
    where reason in ('minute_limit', 'token_daily_limit', 'daily_limit', 'balance')
        and not accepted
        and (kind = 'attempt' or status = 'skipped_cooldown')
),
-- Few: from here on a number stands for the three names.
lines as (
    select row_number() over (order by pool, credential_id, model) as line, *
    from (select pool, credential_id, model, min(provider_ref) as provider_ref from away group by all)
),
-- What turned a line away, and the answers that show it was back.
events as (
    select line, t, true as out, kind, reason, call, back_at, reset_source
    from away join lines
        on away.pool = lines.pool and away.credential_id = lines.credential_id
        and away.model is not distinct from lines.model
    union all
    select line, t, false, null, null, null, null, null
    from attempts join lines
        on attempts.pool = lines.pool and attempts.credential_id = lines.credential_id
        and (lines.model is null or lines.model = attempts.model)
    where status in ('ok', 'empty')
),
neighbours as (
    select
        *,
        coalesce(not lag(out) over w or lag(back_at) over w <= t, lag(out) over w is null) as is_first,
        coalesce(not lead(out) over w or back_at <= lead(t) over w, lead(out) over w is null) as is_last,
        case when not lead(out) over w then lead(t) over w end as success_at
    from events
    window w as (partition by line order by t, out, call)
),
numbered as (
    select *, sum(is_first::integer) over (partition by line order by t, call rows unbounded preceding) as episode
    from neighbours
    where out
),
episodes as (
    select
        line,
        min(t) as begin_at,
        max(t) as last_at,
        arg_max(reason, list_position(['minute_limit', 'token_daily_limit', 'daily_limit', 'balance'], reason)) as kind,
        max(back_at) filter (is_last) as back_at,
        max(reset_source) filter (is_last) as reset_source,
        max(success_at) as success_at,
        count(distinct call) as calls,
        count(*) filter (kind = 'attempt') as refused,
        count(*) filter (kind <> 'attempt') as skipped
    from numbered
    group by line, episode
),
ended as (
    select
        *,
        -- Rows may come from a clock that runs ahead of ours.
        greatest(coalesce(cast(getvariable('now') as timestamptz), now()), max(last_at) over (partition by line)) as now,
        case
            when success_at <= coalesce(back_at, success_at) then 'success'
            when back_at <= now then 'reset'
            else 'still out'
        end as ended_by
    from episodes
)
select
    pool, credential_id, model, provider_ref, kind, begin_at, last_at, back_at, reset_source,
    case ended_by when 'success' then success_at when 'reset' then back_at end as end_at,
    ended_by,
    greatest(epoch(coalesce(end_at, now)) - epoch(begin_at), 0) as out_s,
    calls, refused, skipped
from ended join lines using (line)
