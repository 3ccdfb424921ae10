-- How each candidate stood when it was last met: one row per provider, model and credential.
--
-- state         ok (answered); out (refused or skipped for a quota or balance that is not back); due (that reset has
--               passed, nobody has asked since; a minute's limit without a reset is due after a minute); failing
--               (asked in vain); skipped (passed over for another reason)
-- t             begin of the last attempt or skip (UTC); kind, status, reason: its own; reason NULL: no verdict
-- resets_at     the reset it knew; NULL: none
-- ok_at         begin of the last attempt that was answered; NULL: never
-- failed_at     begin of the last attempt that was not; NULL: none
--
-- "Now" is the variable of that name where one is set (set variable now = timestamptz '…'), else the clock.
with last as (
    select
        provider_ref, model, credential_id,
        -- The order of time; rows of one instant are told apart by their place in the call.
        arg_max_null(pool, place) as pool,
        arg_max_null(tier, place) as tier,
        max(t) as t,
        arg_max_null(kind, place) as kind,
        arg_max_null(status, place) as status,
        arg_max_null(reason, place) as reason,
        arg_max_null(resets_at, place) as resets_at,
        max(t) filter (status in ('ok', 'empty')) as ok_at,
        max(t) filter (kind = 'attempt' and status not in ('ok', 'empty', 'cancelled')) as failed_at
    from (select *, epoch_us(t)::hugeint * 1024 + least(ordinal, 1023) as place from attempts)
    group by provider_ref, model, credential_id
)
select
    provider_ref, model, credential_id, pool, tier,
    case
        when status in ('ok', 'empty') then 'ok'
        when reason in ('minute_limit', 'token_daily_limit', 'daily_limit', 'balance')
            and (kind = 'attempt' or status = 'skipped_cooldown') then
            if(coalesce(resets_at, if(reason = 'minute_limit', t + interval 1 minute, null))
                <= coalesce(cast(getvariable('now') as timestamptz), now()), 'due', 'out')
        when kind = 'attempt' then 'failing'
        else 'skipped'
    end as state,
    t, kind, status, reason, resets_at, ok_at, failed_at
from last
