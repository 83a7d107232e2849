/**
 * An error as a provider's package throws it, made by hand: whoever tells failures apart by what `AI_APICallError`
 * says takes it for one, also by that class's own `isInstance`.
 */
const MARK = Symbol.for("vercel.ai.error.AI_APICallError")
const FAMILY = Symbol.for("vercel.ai.error")

interface ProviderFailure {
  readonly message: string
  readonly code?: string | undefined
  readonly statusCode?: number | undefined
  /** Without it the status says: 408, 409, 429 and all from 500 on can be tried again. */
  readonly retryable?: boolean | undefined
  readonly responseHeaders?: Readonly<Record<string, string>> | undefined
}

export function providerError(failure: ProviderFailure, url: string): Error {
  const { message, code, statusCode, responseHeaders } = failure
  const error = new Error(message)
  error.name = "AI_APICallError"
  return Object.assign(error, {
    [MARK]: true,
    [FAMILY]: true,
    url,
    requestBodyValues: {},
    isRetryable: failure.retryable ?? passes(statusCode),
    ...(code === undefined ? {} : { code }),
    ...(statusCode === undefined ? {} : { statusCode }),
    ...(responseHeaders === undefined ? {} : { responseHeaders }),
  })
}

function passes(status: number | undefined): boolean {
  return status !== undefined && (status === 408 || status === 409 || status === 429 || status >= 500)
}
