-- One row per hop: a call left a candidate that had failed and asked the next one. Skips make no hop.
--
-- t             begin of the next attempt (UTC)
-- from_*, to_*  the candidate that was left and the one asked next
-- status        of the attempt that was left
-- reason        its own verdict; NULL: it has none
-- lost_s        seconds that attempt took; NULL: not known
-- answered      whether the next attempt was the accepted one
--
-- An answer at the first try is where no hop begins or ends: left out before the sort, which most rows then never see.
with asked as (
    select
        call_id,
        t,
        lag(provider_ref) over w as from_ref,
        lag(model) over w as from_model,
        lag(credential_id) over w as from_credential,
        provider_ref as to_ref,
        model as to_model,
        credential_id as to_credential,
        lag(status) over w as status,
        lag(reason) over w as reason,
        lag(secs) over w as lost_s,
        lag(accepted) over w as was_accepted,
        accepted as answered
    from attempts
    where kind = 'attempt' and (ordinal > 0 or not accepted)
    window w as (partition by call_id order by ordinal)
)
select * exclude (was_accepted)
from asked
where not was_accepted
    and (from_ref, from_model, from_credential) is distinct from (to_ref, to_model, to_credential)
