/**
 * Records what a model is asked and answers, and plays it back: a test against a real model once, without it from then on.
 * Replies go on to the caller as they come; what is kept of them, errors and broken streams included, has no secrets.
 */
import { basename, resolve } from "node:path"
import type { LanguageModelV3CallOptions, LanguageModelV3StreamPart } from "@ai-sdk/provider"
import { isSuperstepError, SuperstepError } from "../core/index.ts"
import { calledBy } from "./called-by.ts"
import { addRecording, mendCassette, type Recording, readCassette, startCassette } from "./cassette-file.ts"
import { type Asked, type CassetteMatch, RecordingFinder } from "./cassette-match.ts"
import {
  type RecordedReply,
  type ReplayedReply,
  recordedError,
  recordedResult,
  recordedStream,
  replayed,
} from "./cassette-reply.ts"
import { recordedRequest } from "./cassette-request.ts"
import { type CassetteSecrets, SecretStripper } from "./cassette-secrets.ts"
import type { Model } from "./model.ts"
import { modelName } from "./model-name.ts"
import { streamOf } from "./stream-parts.ts"

export interface CassetteOptions extends CassetteSecrets {
  /**
   * `record` starts the file afresh and asks the model every time; `replay` never asks it; `auto`, the default, replays
   * what is there and records what comes after. Models that share a file are wrapped before the first call.
   */
  readonly mode?: "record" | "replay" | "auto" | undefined
  /** `strict`, the default: the same requests in the same order. `lenient`: the best recording that fits. */
  readonly match?: CassetteMatch | undefined
}

/**
 * A function gives the model when it is needed: a replay needs neither it nor its key. As its name is not known before, it
 * cannot tell its recordings from those of another model for the same agent in the same file.
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

  /** The recorded reply, or undefined when the model is to be asked. */
  const recorded = (asked: Asked): ReplayedReply | undefined => {
    if (mode === "record") return undefined
    const found = finder.find(asked)
    if ("recording" in found) return replayed(found.recording.reply, `cassette:${basename(file)}`)
    if (mode === "auto" && found.atEnd) return undefined
    throw miss(file, asked, found.why, match)
  }

  const live = async (): Promise<Model> => {
    wrapped ??= await (model as () => Model | Promise<Model>)()
    return wrapped
  }

  const keep = (from: Model, number: number, asked: Asked, reply: RecordedReply): void => {
    const { agent, ordinal, request } = asked
    const recording: Recording = {
      call: number,
      agent,
      ...(ordinal === undefined ? {} : { ordinal }),
      model: modelName(from),
      request,
      reply,
    }
    addRecording(path, recording)
    finder.add(recording, asked)
  }

  /** Asks the model. A failure is kept, unless it is the caller's, who stopped it, or our own. */
  const asking = async <T>(
    call: LanguageModelV3CallOptions,
    asked: Asked,
    make: (from: Model, keepReply: (reply: RecordedReply) => void) => PromiseLike<T>,
  ): Promise<T> => {
    const number = calls++
    const from = await live()
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
          const result = await from.doGenerate(call)
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
        const streamed = await from.doStream(call)
        const onEnd = (parts: readonly LanguageModelV3StreamPart[], broken: unknown) => {
          if (!call.abortSignal?.aborted) keepReply(recordedStream(parts, broken, secrets))
        }
        return { ...streamed, stream: overheard(streamed.stream, onEnd) }
      })
    },
  }
}

/** The same stream, and what it was when it ends by itself. One that its reader gives up is told only
 * when the reader had a reason: it was over, or an error came. */
function overheard(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  onEnd: (parts: readonly LanguageModelV3StreamPart[], broken: unknown) => void,
): ReadableStream<LanguageModelV3StreamPart> {
  const reader = stream.getReader()
  const parts: LanguageModelV3StreamPart[] = []
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (!done) {
            parts.push(value)
            controller.enqueue(value)
            return
          }
        } catch (error) {
          onEnd(parts, error ?? new Error("the stream broke off"))
          controller.error(error)
          return
        }
        onEnd(parts, undefined)
        controller.close()
      },
      cancel(reason) {
        if (parts.some(({ type }) => type === "finish" || type === "error")) onEnd(parts, undefined)
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}

function load(file: string, path: string, mode: CassetteOptions["mode"]): readonly Recording[] {
  const recordings = mode === "record" ? undefined : readCassette(path)
  if (recordings === undefined && mode === "replay") {
    throw new SuperstepError(
      "CASSETTE_MISSING",
      `There is no cassette ${file}. Record it once with mode: "record".`,
      {
        retryable: false,
      },
    )
  }
  if (mode === "replay") return recordings ?? []
  if (recordings === undefined) startCassette(path)
  else mendCassette(path)
  return recordings ?? []
}

function check(name: string, value: string, known: readonly string[]): void {
  if (known.includes(value)) return
  const message = `The ${name} of a cassette is ${known.join(", ")}, not ${JSON.stringify(value)}.`
  throw new SuperstepError("CASSETTE_INVALID", message, { retryable: false })
}

function miss(file: string, { agent, ordinal }: Asked, why: string, match: CassetteMatch): SuperstepError {
  const who = agent === "" ? "a caller without a name" : `agent "${agent}"`
  const which = ordinal === undefined ? "" : ` for call ${ordinal + 1}`
  const advice = match === "strict" ? ', or use match: "lenient"' : ""
  return new SuperstepError(
    "CASSETTE_MISS",
    `The cassette ${file} has no reply${which} of ${who}. ${why} Record it again with mode: "record"${advice}.`,
    { retryable: false, fatal: true },
  )
}
