/** A named place in a run's shared state: its type, how writes combine, its first value. */
import type { BuiltInReducer, ChannelSpec, Json } from "../core/index.ts"
import type { Reducer } from "./program.ts"

declare const read: unique symbol
declare const written: unique symbol

/** `T` is what a reader gets, `W` what a writer gives. */
export interface Channel<out T = unknown, in W = never> {
  readonly key: string
  readonly spec: ChannelSpec
  /** Set where the reducer is not built in. */
  readonly reduce?: Reducer | undefined
  /** For the compiler alone. */
  readonly [read]?: T
  readonly [written]?: (value: W) => void
}

/** How a channel's writes combine: made by `replace`, `append`, `merge`, `add`, `union` or `reducer`. */
export interface ChannelKind<T, W> {
  readonly reducer: BuiltInReducer | (string & {})
  readonly initial?: T | undefined
  readonly reduce?: ((current: T | undefined, write: W) => T) | undefined
}

/** The last write wins; of one superstep, that of the last task. */
export function replace<T>(initial: T): ChannelKind<T, T>
export function replace<T>(): ChannelKind<T | undefined, T>
export function replace<T>(initial?: T): ChannelKind<T | undefined, T> {
  return { reducer: "replace", initial }
}

/** A list that writes are added to. */
export function append<T>(initial: readonly T[] = []): ChannelKind<readonly T[], readonly T[]> {
  return { reducer: "append", initial }
}

/** A list without duplicates: equal data is added once. */
export function union<T>(initial: readonly T[] = []): ChannelKind<readonly T[], readonly T[]> {
  return { reducer: "union", initial }
}

/** A record whose keys are set one by one. */
export function merge<T extends object>(initial: T): ChannelKind<Readonly<T>, Partial<T>> {
  return { reducer: "merge", initial }
}

/** A sum. */
export function add(initial = 0): ChannelKind<number, number> {
  return { reducer: "add", initial }
}

/** A pure function of your own, under a name that stays the same when its text changes. */
export function reducer<T, W = T>(
  name: string,
  reduce: (current: T | undefined, write: W) => T,
  initial?: T,
): ChannelKind<T, W> {
  return { reducer: name, reduce, initial }
}

/** A `lasting` one goes on from run to run of the same thread. */
export function channel<T, W>(
  key: string,
  kind: ChannelKind<T, W>,
  options: { readonly lasting?: boolean | undefined } = {},
): Channel<T, W> {
  const lasting = options.lasting ? { lasting: true } : {}
  return {
    key,
    spec: { key, reducer: kind.reducer, initial: kind.initial as Json | undefined, ...lasting },
    reduce: kind.reduce as Reducer | undefined,
  }
}
