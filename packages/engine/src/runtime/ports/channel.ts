/** A named value in a run's shared state: its type, how writes combine, its initial value. */
import type { BuiltInReducer, ChannelSpec, Json } from "../../core/index.ts"

/** A reducer that is not built in. Pure, and synchronous. */
export type Reducer = (current: Json | undefined, write: Json) => Json

declare const read: unique symbol
declare const written: unique symbol

/** `T` is the type that is read, `W` the type that is written. */
export interface Channel<out T = unknown, in W = never, out Key extends string = string> {
  readonly key: Key
  readonly spec: ChannelSpec
  /** Set if the reducer is not built in. */
  readonly reduce?: Reducer | undefined
  /** Type only. */
  readonly [read]?: T
  readonly [written]?: (value: W) => void
}

/** How a channel's writes combine: made by `replace`, `append`, `merge`, `add`, `union` or `reducer`. */
export interface ChannelKind<T, W> {
  readonly reducer: BuiltInReducer | (string & {})
  readonly initial?: T | undefined
  readonly reduce?: ((current: T | undefined, write: W) => T) | undefined
}

/** The last write wins; within a superstep, that of the last task. */
export function replace<T>(initial: T): ChannelKind<T, T>
export function replace<T>(): ChannelKind<T | undefined, T>
export function replace<T>(initial?: T): ChannelKind<T | undefined, T> {
  return { reducer: "replace", initial }
}

/** A list to which writes are appended. */
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

/** A custom pure function, with a name that stays the same when its code changes. */
export function reducer<T, W = T>(
  name: string,
  reduce: (current: T | undefined, write: W) => T,
  initial?: T,
): ChannelKind<T, W> {
  return { reducer: name, reduce, initial }
}

/** With `persist`, the channel keeps its value from run to run of the same thread. */
export function channel<T, W, const Key extends string = string>(
  key: Key,
  kind: ChannelKind<T, W> & JsonOnly<T | W>,
  options: { readonly persist?: boolean | undefined } = {},
): Channel<T, W, Key> {
  // Stored graphs name it `lasting`.
  const lasting = options.persist ? { lasting: true } : {}
  return {
    key,
    spec: { key, reducer: kind.reducer, initial: kind.initial as Json | undefined, ...lasting },
    reduce: kind.reduce as Reducer | undefined,
  }
}

/** The state of a run with these channels, by their keys. */
export type StateOf<Channels extends readonly Channel[]> = {
  readonly [C in Channels[number] as C["key"]]: C extends Channel<infer T, never>
    ? unknown extends T
      ? Json
      : T
    : never
}

// Whether the compiler accepts a type as JSON. Interfaces, optional properties, unions and `unknown` pass; at run time
// every value is checked.

declare const reason: unique symbol

/** No value has this type: compiler errors show it with the reason. */
export interface NotJson<Reason> {
  readonly [reason]: Reason
}

/** `unknown` if `T` may be JSON; otherwise a type that no value has. */
export type JsonOnly<T> = [ProblemOf<T>] extends [never] ? unknown : NotJson<ProblemOf<T>>

type Problem<Path extends string, What extends string> = `${Path extends "" ? "this" : Path} is ${What}`

/** The paths in `T` that cannot be JSON, as text. Checks at most five levels. */
export type ProblemOf<T, Path extends string = "", Level extends readonly unknown[] = []> = 0 extends 1 & T
  ? never
  : unknown extends T
    ? never
    : [T] extends [Json | undefined]
      ? never
      : ProblemOfOne<T, Path, Level>

// Distributes over the members of a union.
type ProblemOfOne<T, Path extends string, Level extends readonly unknown[]> = T extends
  | string
  | number
  | boolean
  | null
  | undefined
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement returns void.
  | void
  ? never
  : T extends bigint
    ? Problem<Path, "a bigint, which is not JSON: use a string">
    : T extends symbol
      ? Problem<Path, "a symbol, which is not JSON">
      : T extends Date
        ? Problem<Path, "a Date, which is not JSON: use toISOString()">
        : T extends ReadonlyMap<unknown, unknown>
          ? Problem<Path, "a Map, which is not JSON: use Object.fromEntries(map)">
          : T extends ReadonlySet<unknown>
            ? Problem<Path, "a Set, which is not JSON: use [...set]">
            : T extends Error
              ? Problem<Path, "an Error, which is not JSON: use its message">
              : T extends (...args: never) => unknown
                ? Problem<Path, "a function, which is not JSON">
                : T extends PromiseLike<unknown>
                  ? Problem<Path, "a Promise, which is not JSON: await it">
                  : T extends ArrayBufferView | ArrayBuffer
                    ? Problem<Path, "binary data, which is not JSON: use a base64 string">
                    : Level["length"] extends 5
                      ? never
                      : T extends readonly (infer Item)[]
                        ? ProblemOf<Item, `${Path}[]`, [...Level, unknown]>
                        : ProblemInObject<T, Path, Level>

type ProblemInObject<T, Path extends string, Level extends readonly unknown[]> = {
  [K in keyof T]: T[K]
} extends T
  ? {
      [K in keyof T & (string | number)]-?: ProblemOf<
        T[K],
        Path extends "" ? `${K}` : `${Path}.${K}`,
        [...Level, unknown]
      >
    }[keyof T & (string | number)]
  : Problem<Path, "an instance of a class, which is not JSON: use a plain object">
