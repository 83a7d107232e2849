/** What a script for the scripted model may say. */
import type { Json } from "../core/index.ts"

/** For whoever calls, in the order of the calls; or for each agent by name, with `*` for all others. */
export type Script = readonly ScriptEntry[] | Readonly<Record<string, readonly ScriptEntry[]>>

/** A reply, from its text alone to the last detail. */
export type ScriptEntry = string | ScriptReply

/** Says one of `text`, `json`, `tool_calls` and `error`, or `text` together with `tool_calls`. */
export interface ScriptReply {
  readonly text?: string | undefined
  /** A reply whose text is this value as JSON. */
  readonly json?: Json | undefined
  readonly tool_calls?: readonly ScriptToolCall[] | undefined
  /** The call fails as a provider's would; a code that is a number is an HTTP status. */
  readonly error?: ScriptError | undefined
  /** What the model thought before. */
  readonly reasoning?: string | undefined
  /** Tokens; what is not given is estimated by whoever counts. */
  readonly usage?: { readonly input?: number | undefined; readonly output?: number | undefined } | undefined
  /** Milliseconds until the reply, or its first piece, comes. */
  readonly delay?: number | undefined
  /** What the last message has to say: a part of its text, or a pattern; as text, a pattern is `/like this/i`. */
  readonly when?: string | RegExp | undefined
  /** How often the entry is the reply; true: for ever. */
  readonly repeat?: number | true | undefined
}

export interface ScriptToolCall {
  readonly name: string
  /** Text goes out as it is: a model may write what is not JSON. */
  readonly args?: Json | undefined
  /** Made up when it is not given. */
  readonly id?: string | undefined
}

export interface ScriptError {
  readonly code?: string | number | undefined
  readonly message?: string | undefined
  /** Without it the status says: 408, 409, 429 and all from 500 on can be tried again, all else cannot. */
  readonly retryable?: boolean | undefined
}
