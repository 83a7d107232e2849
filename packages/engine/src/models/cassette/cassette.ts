/**
 * Records a model's requests and replies, and replays them: a test calls the real model once, and never again. Replies
 * reach the caller as they arrive. Recordings, including those of errors and interrupted streams, contain no secrets.
 */

import { appendFileSync, existsSync, mkdirSync, truncateSync, writeFileSync } from "node:fs"
import { basename, dirname, resolve } from "node:path"
import type { LanguageModelV3CallOptions, LanguageModelV3StreamPart } from "@ai-sdk/provider"
import { isSuperstepError, SuperstepError } from "../../core/index.ts"
import { readTextFile } from "../../files/index.ts"
import { PRIVATE_FILE, tightenFile } from "../../runtime/internal.ts"
import { streamOf, tapped } from "../call/reply-stream.ts"
import { ADAPTING, calledBy, callerName, type Model, modelName } from "../model.ts"
import { type CassetteSecrets, SecretStripper } from "../redact.ts"
import { wireCall } from "../wire/wire-call.ts"
import {
  type Asked,
  type CassetteMatch,
  type RecordedReply,
  type RecordedRequest,
  type Recording,
  RecordingFinder,
  type ReplayedReply,
  recordedError,
  recordedRequest,
  recordedResult,
  recordedStream,
  replayed,
} from "./recording-finder.ts"

export interface CassetteOptions extends CassetteSecrets {
  /**
   * `record` overwrites the file and always calls the model; `replay` never calls it; `auto`, the default, replays
   * existing recordings and records further calls. Wrap all models that share a file before the first call.
   */
  readonly mode?: "record" | "replay" | "auto" | undefined
  /** `strict`, the default, requires the same requests in the same order; `lenient` uses the best match. */
  readonly match?: CassetteMatch | undefined
}

/**
 * A function returns the model when it is needed: a replay needs neither the model nor its key. Its name is unknown until
 * then, so its recordings are not distinguished from those of another model of the same agent in the same file.
 */
export type CassetteModel = Model | (() => Model | Promise<Model>)

export function cassette(file: string, model: CassetteModel, options: CassetteOptions = {}): Model {
  const { mode = "auto", match = "strict" } = options
  check("mode", mode, ["record", "replay", "auto"])
  check("match", match, ["strict", "lenient"])
  const path = resolve(file)
  const recordings = load(file, path, mode)
  const secrets = new SecretStripper(options)
  const finder = new RecordingFinder(recordings, match)
  let wrapped = typeof model === "function" ? undefined : model
  let calls = recordings.reduce((most, { call }) => Math.max(most, call + 1), 0)

  const ask = (call: LanguageModelV3CallOptions): Asked => ({
    ...calledBy(call),
    ...(typeof model === "function" ? {} : { model: modelName(model) }),
    request: recordedRequest(call, secrets),
  })

  /** The recorded reply, or undefined if the model must be called. */
  const recorded = (asked: Asked): ReplayedReply | undefined => {
    if (mode === "record") return undefined
    const found = finder.find(asked)
    if ("recording" in found) return replayed(found.recording.reply, `cassette:${basename(file)}`)
    if (mode === "auto" && found.atEnd) return undefined
    throw miss(file, asked, found.why, match)
  }

  const keep = (from: Model, number: number, asked: Asked, reply: RecordedReply): void => {
    const { agent, ordinal, request } = asked
    const caller = { agent, ...(ordinal === undefined ? {} : { ordinal }) }
    const recording: Recording = { call: number, ...caller, model: modelName(from), request, reply }
    addRecording(path, recording)
    finder.add(recording, asked)
  }

  /** Calls the model. Its failure is recorded, unless the caller stopped the call or the error is the engine's own. */
  const asking = async <T>(
    call: LanguageModelV3CallOptions,
    asked: Asked,
    make: (from: Model, keepReply: (reply: RecordedReply) => void) => PromiseLike<T>,
  ): Promise<T> => {
    const number = calls++
    wrapped ??= await (model as () => Model | Promise<Model>)()
    const from = wrapped
    try {
      return await make(from, (reply) => keep(from, number, asked, reply))
    } catch (error) {
      if (!call.abortSignal?.aborted && !isSuperstepError(error)) {
        keep(from, number, asked, { error: recordedError(error, secrets) })
      }
      throw error
    }
  }

  return {
    ...ADAPTING,
    specificationVersion: "v3",
    get provider() {
      return wrapped?.provider ?? recordings[0]?.model.split("/", 1)[0] ?? "cassette"
    },
    get modelId() {
      const recordedName = recordings[0]?.model
      return wrapped?.modelId ?? recordedName?.slice(recordedName.indexOf("/") + 1) ?? basename(file)
    },
    get supportedUrls() {
      return wrapped?.supportedUrls ?? {}
    },
    async doGenerate(call) {
      call.abortSignal?.throwIfAborted()
      const asked = ask(call)
      const reply = recorded(asked)
      if (reply === undefined) {
        return asking(call, asked, async (from, keepReply) => {
          const result = await from.doGenerate(wireCall(from, call))
          keepReply(recordedResult(result, secrets))
          return result
        })
      }
      return reply.whole()
    },
    async doStream(call) {
      call.abortSignal?.throwIfAborted()
      const asked = ask(call)
      const reply = recorded(asked)
      if (reply !== undefined) {
        return { stream: streamOf(reply.parts, { signal: call.abortSignal, broken: reply.broken }) }
      }
      return asking(call, asked, async (from, keepReply) => {
        const streamed = await from.doStream(wireCall(from, call))
        const parts: LanguageModelV3StreamPart[] = []
        const onEnd = (broken?: unknown) => {
          if (!call.abortSignal?.aborted) keepReply(recordedStream(parts, broken, secrets))
        }
        const onCancel = () => {
          // A reader that cancels after the finish or an error has read everything.
          if (parts.some(({ type }) => type === "finish" || type === "error")) onEnd()
        }
        const stream = tapped(streamed.stream, (part) => parts.push(part), { onEnd, onCancel })
        return { ...streamed, stream }
      })
    },
  }
}

function load(file: string, path: string, mode: CassetteOptions["mode"]): readonly Recording[] {
  const recordings = mode === "record" ? undefined : readCassette(path)
  if (recordings === undefined && mode === "replay") {
    const text = `There is no cassette ${file}. Record it once with mode: "record".`
    throw new SuperstepError("CASSETTE_MISSING", text, { retryable: false })
  }
  if (mode === "replay") return recordings ?? []
  if (recordings === undefined) startCassette(path)
  else repairCassette(path)
  return recordings ?? []
}

function check(name: string, value: string, known: readonly string[]): void {
  if (known.includes(value)) return
  const message = `The ${name} of a cassette must be ${known.join(", ")}, not ${JSON.stringify(value)}.`
  throw new SuperstepError("CASSETTE_INVALID", message, { retryable: false })
}

function miss(file: string, { agent, ordinal }: Asked, why: string, match: CassetteMatch): SuperstepError {
  const which = ordinal === undefined ? "" : ` for call ${ordinal + 1}`
  const advice = match === "strict" ? ', or use match: "lenient"' : ""
  const text = `The cassette ${file} has no reply${which} of ${callerName(agent)}. ${why} Record it again with mode: "record"${advice}.`
  return new SuperstepError("CASSETTE_MISS", text, { retryable: false, fatal: true })
}

// The file of a cassette: a header line, then one line of JSON for each call. Lines are only appended, in one write each,
// so several models can share a file, and a process that dies leaves at most an incomplete last line.

const CASSETTE_VERSION = 1

/** Creates the file, or empties it. */
export function startCassette(file: string): void {
  writing(file, () => {
    mkdirSync(dirname(file), { recursive: true })
    const isNew = !existsSync(file)
    writeFileSync(file, `${JSON.stringify({ cassette: CASSETTE_VERSION })}\n`, { mode: PRIVATE_FILE })
    if (!isNew) tightenFile(file)
  })
}

export function addRecording(file: string, recording: Recording): void {
  writing(file, () => appendFileSync(file, `${JSON.stringify(recording)}\n`, { mode: PRIVATE_FILE }))
}

/** The recordings by call, or undefined if the file does not exist or is empty. */
function readCassette(file: string): Recording[] | undefined {
  const text = contentOf(file)
  if (text === undefined || text.trim() === "") return undefined
  // The text after the last newline is incomplete: its process died.
  const [first = "", ...lines] = text.slice(0, text.lastIndexOf("\n") + 1).split("\n")
  const header = parse(first)
  if (!Number.isSafeInteger(header?.cassette)) {
    throw unreadable(file, 1, 'is not the header of a cassette, like {"cassette":1}')
  }
  if (header?.cassette !== CASSETTE_VERSION) {
    const text = `The cassette ${file} has version ${header?.cassette}, but this version of the library reads ${CASSETTE_VERSION}. Update the library, or record it again.`
    throw new SuperstepError("CASSETTE_VERSION", text, { retryable: false })
  }
  const recordings = lines.flatMap((line, index) => {
    if (line.trim() === "") return []
    const recording = parse(line)
    if (!isRecording(recording)) throw unreadable(file, index + 2, "is not a recorded call")
    return [recording]
  })
  return recordings.sort((a, b) => a.call - b.call)
}

/** Removes an incomplete last line, which would corrupt the next one. */
export function repairCassette(file: string): void {
  const text = contentOf(file) ?? ""
  if (existsSync(file)) tightenFile(file)
  if (!text.endsWith("\n")) truncateSync(file, Buffer.byteLength(text.slice(0, text.lastIndexOf("\n") + 1)))
}

function writing(file: string, write: () => void): void {
  try {
    write()
  } catch (error) {
    const text = `The cassette ${file} cannot be written.`
    throw new SuperstepError("CASSETTE_UNWRITABLE", text, { cause: error, retryable: false })
  }
}

/** Bytes; JavaScript strings cannot be much longer. */
const MAX_CASSETTE = 500_000_000

function contentOf(file: string): string | undefined {
  try {
    return readTextFile(file, { maxBytes: MAX_CASSETTE })
  } catch (error) {
    const { cause } = error as { readonly cause?: { readonly code?: unknown } }
    if (cause?.code === "ENOENT") return undefined
    const text = `The cassette ${file} cannot be read.`
    throw new SuperstepError("CASSETTE_UNREADABLE", text, { cause: error, retryable: false })
  }
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function isRecording(value: unknown): value is Recording {
  const { call, agent, model, request, reply } = Object(value) as Partial<Record<keyof Recording, unknown>>
  if (typeof call !== "number" || typeof agent !== "string" || typeof model !== "string") return false
  const { hash, messages, tools, settings } = Object(request) as Partial<RecordedRequest>
  if (typeof hash !== "string" || !Array.isArray(messages)) return false
  if (typeof tools !== "object" || typeof settings !== "object") return false
  const { result, parts, error } = Object(reply) as Record<string, unknown>
  return typeof result === "object" || Array.isArray(parts) || typeof error === "object"
}

function unreadable(file: string, line: number, why: string): SuperstepError {
  const text = `Line ${line} of the cassette ${file} ${why}. Record it again.`
  return new SuperstepError("CASSETTE_UNREADABLE", text, { retryable: false })
}
