/**
 * Where memories are stored: the port, and a file with one line for each memory, for any number of agents and processes.
 *
 * F1 A memory is appended in one write, on a line of its own: writers need no coordination, and an incomplete line after
 *    a crash corrupts no other.
 * F2 Removing overwrites the line with spaces in place: the memory is no longer in the file, and no other line moves. Of
 *    two lines with the same id, the later counts.
 * F3 Each line has the version of its format. A line of a later version is left alone and not shown.
 * F4 A file that is something else, such as a database, is neither read nor written.
 */
import { createHash } from "node:crypto"
import { type FileHandle, mkdir, open, stat } from "node:fs/promises"
import { dirname } from "node:path"
import { SuperstepError } from "../../core/index.ts"
import { terminalError } from "../../core/internal.ts"
import { PRIVATE_FILE, PRIVATE_FOLDER, tightenFile } from "../../runtime/internal.ts"

export interface Memory {
  readonly id: string
  readonly text: string
  /** Free keywords for searches. */
  readonly tags: readonly string[]
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** Stores memories. Several agents and processes may use one store. */
export interface MemoryStore {
  /** Stores a memory; one with the same id is replaced. */
  put(memory: Memory): Promise<void>
  /** False if there was none. */
  remove(id: string): Promise<boolean>
  all(): Promise<readonly Memory[]>
  /** The best first. Without it, the words of all memories are searched. */
  search?(query: string, limit: number): Promise<readonly Memory[]>
  close?(): Promise<void> | void
}

/** The id of a memory comes from the call that makes it. Short enough for a model to copy without a mistake. */
export function memoryId(idempotencyKey: string): string {
  return createHash("sha256").update(idempotencyKey).digest("hex").slice(0, 12)
}

const VERSION = 1

interface Line {
  readonly start: number
  readonly end: number
  readonly memory: Memory
}

export function memoryFile(path: string): MemoryStore {
  const read = async () => (await withFile(path, "r", (file) => readLines(file, path))) ?? []
  return {
    async put(memory) {
      await mkdir(dirname(path), { recursive: true, mode: PRIVATE_FOLDER })
      await withFile(path, "a+", async (file) => {
        await checkStart(file, path)
        tightenFile(path)
        // The leading line break ends an incomplete line that a crash may have left.
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
  const done = await withFile(path, "r+", async (file) => {
    const lines = choose(await readLines(file, path))
    for (const { start, end } of lines) {
      await file.write(Buffer.alloc(end - start, " "), 0, end - start, start)
    }
    if (lines.length > 0) await file.datasync()
    return lines.length > 0
  })
  return done ?? false
}

/** Undefined if there is no file to read. */
async function withFile<T>(
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

/** Bytes. */
const MAX_MEMORIES = 100_000_000

/** Opening a FIFO would wait for its other end, and a device has no end. */
async function checkFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined || (found.isFile() && found.size <= MAX_MEMORIES)) return
  const why = found.isFile() ? `is larger than ${MAX_MEMORIES / 1_000_000} MB` : "is not a regular file"
  const text = `The memory file ${path} ${why}: use a separate file for the memory toolset.`
  throw terminalError("MEMORY_UNAVAILABLE", text)
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

/** A file of memories begins with a line break or, if that was overwritten, with spaces; then comes a `{`. */
function checkKind(bytes: Buffer, path: string): void {
  const first = bytes.find((byte) => byte !== LINE_BREAK && byte !== SPACE)
  if (first === undefined || first === BRACE) return
  const text = `${path} exists and is not a memory file: use another file for the memory toolset.`
  throw terminalError("MEMORY_UNAVAILABLE", text)
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
  const { v, id, text, tags, at } = Object(data) as Record<string, unknown>
  if (v !== VERSION || typeof id !== "string" || typeof text !== "string" || !isTime(at)) return undefined
  return { id, text, tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [], at }
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Math.abs(value) <= 8.64e15
}
