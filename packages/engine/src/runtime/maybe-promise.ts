/** User code may answer now or later; what is answered now is not awaited. */
export type MaybePromise<T> = T | Promise<T>

export function isPromise<T>(value: T | PromiseLike<T>): value is Promise<T> {
  return (
    typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function"
  )
}

/** Goes on with the value, at once where it is there. */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return isPromise(value) ? value.then(next) : next(value)
}
