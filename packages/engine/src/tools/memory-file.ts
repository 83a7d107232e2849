/**
 * Memories in a file, a line each, for any number of agents and processes at a time.
 *
 * F1 A memory is appended in one write, on a line of its own: writers do not need to know of each other, and half a line,
 *    after a crash, spoils no other.
 * F2 Removing overwrites the line with spaces where it is: what is forgotten is no longer in the file, and no other line
 *    moves. Of two lines with one id, the later counts.
 * F3 Each line has the version of its form. A line of a later version is left alone and not shown.
 * F4 A file that is something else, such as a database, is neither read nor written.
 */
import { type FileHandle, mkdir, open, stat } from "node:fs/promises"
import { dirname } from "node:path"
import { SuperstepError } from "../core/index.ts"
import { PRIVATE_FILE, PRIVATE_FOLDER, tightenFile } from "../runtime/private-file.ts"
import type { Memory, MemoryStore } from "./memory-store.ts"

const VERSION = 1

interface Line {
  readonly start: number
  readonly end: number
  readonly memory: Memory
}

export function memoryFile(path: string): MemoryStore {
  const read = async () => (await using(path, "r", (file) => readLines(file, path))) ?? []
  return {
    async put(memory) {
      await mkdir(dirname(path), { recursive: true, mode: PRIVATE_FOLDER })
      await using(path, "a+", async (file) => {
        await checkStart(file, path)
        tightenFile(path)
        // The line break before it ends what a crash may have left.
        await file.write(`\n${JSON.stringify({ v: VERSION, ...memory })}\n`)
        await file.datasync()
      })
      await blank(path, (lines) => lines.filter(({ memory: { id } }) => id === memory.id).slice(0, -1))
    },

    remove: (id) => blank(path, (lines) => lines.filter((line) => line.memory.id === id)),

    async all() {
      const last = new Map<string, Memory>()
      for (const { memory } of await read()) last.set(memory.id, memory)
      return [...last.values()]
    },
  }
}

/** Whether there was anything to blank. Read and written through one handle, so that it is the same file. */
async function blank(path: string, choose: (lines: readonly Line[]) => readonly Line[]): Promise<boolean> {
  const done = await using(path, "r+", async (file) => {
    const lines = choose(await readLines(file, path))
    if (lines.length === 0) return false
    for (const { start, end } of lines)
      await file.write(Buffer.alloc(end - start, " "), 0, end - start, start)
    await file.datasync()
    return true
  })
  return done ?? false
}

/** Undefined when there is no file to read. */
async function using<T>(
  path: string,
  flags: string,
  use: (file: FileHandle) => Promise<T>,
): Promise<T | undefined> {
  await checkFile(path)
  let file: FileHandle
  try {
    file = await open(path, flags, PRIVATE_FILE)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === "ENOENT" && flags !== "a+") return undefined
    const text = `The memory file ${path} cannot be opened: ${message}`
    throw new SuperstepError("MEMORY_UNAVAILABLE", text, { cause: error })
  }
  try {
    return await use(file)
  } finally {
    await file.close()
  }
}

/** Bytes of memories that are read at once. */
const MAX_MEMORIES = 100_000_000

/** Opening a FIFO would wait for its other end, and a device has no end. */
async function checkFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined || (found.isFile() && found.size <= MAX_MEMORIES)) return
  const why = found.isFile() ? `is larger than ${MAX_MEMORIES / 1_000_000} MB` : "is no file"
  const text = `The memory file ${path} ${why}: give the memory toolset a file of its own.`
  throw new SuperstepError("MEMORY_UNAVAILABLE", text, { retryable: false })
}

async function readLines(file: FileHandle, path: string): Promise<Line[]> {
  const bytes = await file.readFile()
  checkKind(bytes, path)
  return linesOf(bytes)
}

const START = 4_096

async function checkStart(file: FileHandle, path: string): Promise<void> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(START), 0, START, 0)
  checkKind(buffer.subarray(0, bytesRead), path)
}

/** Ours begins with a line break or, where that was overwritten, with spaces; then comes a `{`. */
function checkKind(bytes: Buffer, path: string): void {
  const first = bytes.find((byte) => byte !== LINE_BREAK && byte !== SPACE)
  if (first === undefined || first === BRACE) return
  const text = `${path} is there and is no file of memories: give the memory toolset a file of its own.`
  throw new SuperstepError("MEMORY_UNAVAILABLE", text, { retryable: false })
}

const LINE_BREAK = 10
const SPACE = 32
const BRACE = 123

function linesOf(bytes: Buffer): Line[] {
  const lines: Line[] = []
  for (let start = 0; start < bytes.length; ) {
    const found = bytes.indexOf(LINE_BREAK, start)
    const end = found < 0 ? bytes.length : found
    const memory = memoryOf(bytes.toString("utf8", start, end))
    if (memory !== undefined) lines.push({ start, end, memory })
    start = end + 1
  }
  return lines
}

function memoryOf(line: string): Memory | undefined {
  if (line.trim() === "") return undefined
  let data: unknown
  try {
    data = JSON.parse(line)
  } catch {
    return undefined
  }
  if (typeof data !== "object" || data === null) return undefined
  const { v, id, text, tags, at } = data as Record<string, unknown>
  if (v !== VERSION || typeof id !== "string" || typeof text !== "string" || !isTime(at)) return undefined
  return { id, text, tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [], at }
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Math.abs(value) <= 8.64e15
}
