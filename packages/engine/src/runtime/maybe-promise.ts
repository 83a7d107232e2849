/** User code may answer now or later; what is answered now is not awaited. */
export type MaybePromise<T> = T | Promise<T>

/** Whether something of ours comes later. What users hand over is made ours with `fromUser` first. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return value instanceof Promise
}

/** Anything with a `then` counts as a promise. */
export function fromUser<T>(value: T | PromiseLike<T>): MaybePromise<T> {
  if (typeof value !== "object" || value === null || value instanceof Promise) return value as MaybePromise<T>
  return typeof (value as { then?: unknown }).then === "function" ? Promise.resolve(value) : (value as T)
}

/** Goes on with the value, at once where it is there. */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return isPromise(value) ? value.then(next) : next(value)
}
