-- Whether providers could be reached: one row per provider, model and hour (UTC).
--
-- hour          its begin; a call belongs to the hour in which it first asked this candidate
-- calls         calls that asked it, however often each of them did
-- reached       of them: calls it gave an answer to, good or not
-- refused       of them: calls it turned down for what they asked (too long, malformed, not allowed by its filter)
-- cancelled     of them: calls that were cancelled meanwhile
-- share         reached / (calls - refused - cancelled), 0 to 1; NULL: nothing can be said
-- accepted      calls whose answer was accepted. That is quality and no part of share: reachable is not correct.
with asked as (
    select
        provider_ref,
        model,
        make_timestamptz(epoch_us(min(t)) // 3_600_000_000 * 3_600_000_000) as hour,
        bool_or(status in ('ok', 'empty') or accepted) as was_reached,
        bool_or(reason in ('context_window', 'bad_request', 'content_filter')) as was_refused,
        bool_or(status = 'cancelled') as was_cancelled,
        bool_or(accepted) as was_accepted
    from attempts
    where kind = 'attempt'
    group by call_id, provider_ref, model
)
select
    provider_ref,
    model,
    hour,
    count(*) as calls,
    count(*) filter (was_reached) as reached,
    count(*) filter (not was_reached and was_refused) as refused,
    count(*) filter (not was_reached and was_cancelled and not coalesce(was_refused, false)) as cancelled,
    reached / nullif(calls - refused - cancelled, 0) as share,
    count(*) filter (was_accepted) as accepted
from asked
group by provider_ref, model, hour
