-- Every attempt and every skip, one row each, as they were written; a corrected price in place of the first (see repriced).
select
    call_id, ordinal, t, provider_ref, model, kind, mode, status, turn_id, model_reported, requested_ref,
    requested_model, credential_id, pool, reason, scope, resets_at, reset_source, attempt, failover, accepted,
    input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, usage_state, cost_usd, price_source, secs,
    wait_s, first_token_s, finish_reason, evidence, notes, tier,
    billed_input_tokens, billed_output_tokens
from store.rows
