"""Codes that mean the same whoever sends them, so that an unknown server is understood too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from zc_notebooks.reliability.rules import (
    AUTH,
    BAD_REQUEST,
    BALANCE,
    CAPACITY,
    CONTENT_FILTER,
    DAY,
    LIMIT,
    MINUTE,
    NOT_FOUND,
    PERMISSION,
    PERMISSION_ACCOUNT,
    PERMISSION_MODEL,
    REQUEST,
    SOFT_BAD_REQUEST,
    SOFT_BALANCE,
    SOFT_NOT_FOUND,
    SOFT_PERMISSION,
    TOOL_SCHEMA,
    WINDOW,
    Failures,
    Rule,
)

_WORDS: Final[Mapping[Rule, str]] = {
    AUTH: """
        invalid_api_key incorrect_api_key incorrect_api_key_error invalid_authentication invalid_authentication_error
        authentication_error api_key_invalid api_key_expired wrong_api_key missing_api_key no_api_key key_revoked
        unauthenticated invalid_token expired_token token_expired account_deactivated credentials_missing
        UnrecognizedClientException ExpiredTokenException InvalidSignatureException IncompleteSignature
        MissingAuthenticationTokenException InvalidApiKey AuthFailure""",
    BALANCE: """
        insufficient_quota insufficient_balance insufficient_credits insufficient_funds insufficient_user_quota
        pre_consume_token_quota_failed balance_not_enough not_enough_balance billing_error billing_hard_limit_reached
        billing_limit_reached billing_not_active payment_required payment_required_error credits_exhausted no_credits
        credit_balance_too_low exceeded_current_quota exceeded_current_quota_error enforced_spend_limit_reached
        spend_limit_reached spending_limit_reached budget_exceeded BudgetExceededError Arrearage AccountOverdueError
        reject_no_credit insufficient_credit quota_not_enough SetLimitExceeded""",
    PERMISSION: """
        unsupported_country_region_territory unsupported_country SERVICE_DISABLED API_KEY_SERVICE_BLOCKED
        API_KEY_HTTP_REFERRER_BLOCKED API_KEY_IP_ADDRESS_BLOCKED AccessDeniedException
        ip_not_authorized region_not_supported""",
    PERMISSION_ACCOUNT: """
        organization_restricted organization_disabled account_suspended account_blocked CONSUMER_SUSPENDED
        project_blocked""",
    PERMISSION_MODEL: """
        model_terms_required key_model_access_denied team_model_access_denied model_access_denied no_access
        no_model_access model_not_allowed model_permission_blocked_org model_permission_blocked_project
        ModelNotOpen""",
    NOT_FOUND: """
        model_not_found model_not_found_error ModelNotFound model_not_available model_not_supported unknown_model
        unsupported_model unavailable_model invalid_model model_does_not_exist NoSuchModel model_decommissioned
        model_deprecated model_archived model_is_deactivated model_deactivated model_not_exist DeploymentNotFound
        InvalidEndpointOrModel resource_not_found_error engine_not_found github_models_retirement_brownout""",
    WINDOW: """
        context_length_exceeded context_window_exceeded ContextWindowExceededError exceed_context_size_error
        prompt_too_long input_too_long context_too_long max_context_length_exceeded too_many_tokens""",
    REQUEST: """
        request_too_large tokens_limit_reached payload_too_large request_entity_too_large string_above_max_length
        context_limit_reached""",
    CONTENT_FILTER: """
        content_filter content_filtered content_policy_violation ContentPolicyViolationError
        ResponsibleAIPolicyViolation data_inspection_failed moderation_blocked content_blocked safety_check_failed
        safety_violation SensitiveContentDetected InputTextSensitiveContentDetected sensitive_words_detected
        prompt_blocked content_moderation_failed""",
    CAPACITY: """
        overloaded overloaded_error engine_overloaded engine_overloaded_error server_overloaded server_is_overloaded
        model_overloaded capacity_exceeded queue_exceeded service_tier_capacity_exceeded insufficient_capacity
        no_capacity provider_overloaded upstream_provider_shared_pool ModelNotReadyException slow_down system_busy
        over_capacity no_deployments_available no_provider_available get_channel_failed""",
    TOOL_SCHEMA: "tool_use_failed invalid_tool_call tool_call_validation_failed malformed_function_call",
    BAD_REQUEST: """
        unsupported_parameter unsupported_value unknown_parameter json_validate_failed
        invalid_function_parameters""",
    SOFT_BAD_REQUEST: "invalid_parameter",
    DAY: "usage_limit_reached daily_limit_exceeded monthly_limit_exceeded weekly_limit_exceeded",
    MINUTE: "concurrent_budget_exceeded concurrency_limit_exceeded",
    LIMIT: """
        rate_limit rate_limited rate_limit_exceeded rate_limit_error RateLimitError rate_limit_reached
        rate_limit_reached_error RateLimitReached too_many_requests too_many_requests_error too_many_tokens_error
        rpm_rate_limit_exceeded tpm_rate_limit_exceeded
        request_quota_exceeded token_quota_exceeded quota_exceeded throttling throttling_error ThrottlingException
        TooManyRequestsException ServiceQuotaExceededException limit_requests limit_burst_rate model_rate_limit
        requests_limit_exceeded token_quota_reached""",
    SOFT_BALANCE: "credit_limit",
    SOFT_PERMISSION: "permission_denied permission_error permission_denied_error access_denied forbidden",
    SOFT_NOT_FOUND: "not_found not_found_error ResourceNotFoundException",
}

TABLE: Final = Failures(codes={word: rule for rule, words in _WORDS.items() for word in words.split()})

STATUS_OF: Final[Mapping[str, int]] = {
    word: status
    for status, words in {
        400: "invalidrequesterror invalidrequest badrequest badrequesterror invalidargument failedprecondition "
        "validationexception invalidparameter",
        401: "unauthorized unauthenticated authenticationerror",
        403: "permissiondenied permissionerror forbidden",
        404: "notfound notfounderror",
        413: "requesttoolarge",
        422: "unprocessableentity unprocessableentityerror validationerror",
        429: "resourceexhausted ratelimiterror ratelimitexceeded ratelimited toomanyrequests toomanyrequestserror "
        "toomanytokenserror requestquotaexceeded tokenquotaexceeded throttlingexception ratelimitreached",
        500: "apierror servererror internalservererror internalerror internal unknownerror",
        502: "badgateway",
        503: "unavailable serviceunavailable serviceunavailableerror unavailableerror serviceunavailableexception "
        "modelunavailable",
        504: "timeouterror deadlineexceeded gatewaytimeout modeltimeoutexception",
        529: "overloadederror",
    }.items()
    for word in words.split()
}
"""Plain error type → the HTTP status it stands for, where the answer itself came with none (spec 8.2)."""
