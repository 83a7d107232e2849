/** User code may return a value or a promise; a value is not awaited. */
export type MaybePromise<T> = T | Promise<T>

/** Only native promises: values from user code pass through `fromUser` first. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return value instanceof Promise
}

/** Anything with a `then` counts as a promise. */
export function fromUser<T>(value: T | PromiseLike<T>): MaybePromise<T> {
  if (typeof value !== "object" || value === null || value instanceof Promise) return value as MaybePromise<T>
  return typeof (value as { then?: unknown }).then === "function" ? Promise.resolve(value) : (value as T)
}

/** Calls `next` with the value, at once if it is not a promise. */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return isPromise(value) ? value.then(next) : next(value)
}

/** Resolves everyone who waits for a change. */
export class Signal {
  #waiting: (() => void)[] | undefined

  get isAwaited(): boolean {
    return this.#waiting !== undefined
  }

  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting ??= []
      this.#waiting.push(resolve)
    })
  }

  notify(): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    for (const resolve of waiting ?? []) resolve()
  }
}

/** A promise with the function that resolves it. */
export function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
