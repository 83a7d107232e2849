/**
 * A cassette's file: a line that says what it is, then one line of JSON for each call. Lines are only added, in one write
 * each, so that several models may share a file, and a process that dies leaves at most a torn last line.
 */
import { appendFileSync, existsSync, mkdirSync, truncateSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { SuperstepError } from "../../core/index.ts"
import { readTextFile } from "../../files/index.ts"
import { PRIVATE_FILE, tightenFile } from "../../runtime/internal.ts"
import type { RecordedRequest, Recording } from "./recording-finder.ts"

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

/** The recordings by call, or undefined when there is no such file, or nothing in it. */
export function readCassette(file: string): Recording[] | undefined {
  const text = contentOf(file)
  if (text === undefined || text.trim() === "") return undefined
  // A process died while it wrote what follows the last newline.
  const [first = "", ...lines] = text.slice(0, text.lastIndexOf("\n") + 1).split("\n")
  const header = parse(first)
  if (!Number.isSafeInteger(header?.cassette)) {
    throw unreadable(file, 1, 'is not the beginning of a cassette, like {"cassette":1}')
  }
  if (header?.cassette !== CASSETTE_VERSION) {
    const text = `The cassette ${file} has version ${header?.cassette}, and this version of the library reads ${CASSETTE_VERSION}. Update the library, or record it again.`
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

/** Before anything is added: a torn line would spoil the next one. */
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

/** Bytes; JavaScript holds no longer strings. */
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
