-- One row per call: what was asked for, who answered, what it took and what it cost.
--
-- t             begin of its first attempt or skip (UTC)
-- served_*      the candidate whose answer was accepted; NULL: nobody's
-- outcome       answered; cancelled; failed (asked in vain); not asked (every candidate was skipped)
-- reason        of the last attempt that failed, its status when there is no verdict; NULL: none failed
-- wait_s        seconds slept between attempts; NULL: never known
-- total_s       seconds from t to the end of the last attempt, waits included; NULL: an attempt's length is not known
-- cost_usd      US dollars, the sum over all its attempts, accepted or not; NULL: no part is known
-- at_least      true: a part of the cost is unknown and the sum is a lower bound
select
    call_id,
    min(t) as t,
    any_value(turn_id) as turn_id,
    any_value(mode) as mode,
    any_value(requested_ref) as requested_ref,
    any_value(requested_model) as requested_model,
    any_value(provider_ref) filter (accepted) as served_ref,
    any_value(model) filter (accepted) as served_model,
    case
        when bool_or(accepted) then 'answered'
        when bool_or(status = 'cancelled') then 'cancelled'
        when bool_or(kind = 'attempt') then 'failed'
        else 'not asked'
    end as outcome,
    arg_max(coalesce(reason, status), ordinal) filter (kind = 'attempt' and not accepted) as reason,
    count(*) filter (kind = 'attempt') as attempts,
    count(*) filter (kind <> 'attempt') as skips,
    sum(wait_s) as wait_s,
    -- A length of three decades or a price of a billion is a mistake, and not known.
    case when not bool_or(kind = 'attempt' and coalesce(abs(secs) > 1e9, true)) then
        (max(epoch_us(t) + cast(case when abs(secs) <= 1e9 then secs * 1e6 else 0 end as bigint)) - epoch_us(min(t)))
        / 1e6
    end as total_s,
    -- A refusal costs nothing, whether or not the row says so; decimals, so that sums do not depend on their order.
    sum(try_cast(case when kind = 'attempt' and cost_usd is null and starts_with(status, 'http_') then 0
        when abs(cost_usd) <= 1e9 then cost_usd end as decimal(38, 12))) as cost_usd,
    bool_or(kind = 'attempt' and not starts_with(status, 'http_')
        and (not coalesce(abs(cost_usd) <= 1e9, false) or input_tokens is null or output_tokens is null)) as at_least
from attempts
group by call_id
