-- Attempts whose price was corrected later (zc ledger reprice): by the newest correction, and as the row was written.
--
-- cost_usd, price_source      what counts now, as in attempts
-- *_original                  as the row was written; NULL: no price was known then
-- priced_at, price_version    when the correction was made, and its number
select
    t, call_id, ordinal, provider_ref, model, cost_usd, cost_usd_original, price_source, price_source_original,
    priced_at, price_version
from store.rows
where price_version is not null
