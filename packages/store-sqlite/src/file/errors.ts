import { readFileSync, statSync } from "node:fs"
import { isSuperstepError, SuperstepError } from "@superstep/engine"
import { resultCode } from "./driver.ts"

/** `what` continues the sentence after the path, and says what to do. */
export function unusable(path: string, what: string, cause?: unknown): SuperstepError {
  return new SuperstepError("STORE_UNUSABLE", `${path} ${what}.`, { cause })
}

export function writeFailed(what: string, cause?: unknown): SuperstepError {
  return new SuperstepError("STORE_WRITE_FAILED", `${what}${why(cause)}.`, { cause })
}

/** What SQLite says of a damaged file: "malformed", "not a database". */
const OF_DAMAGE: ReadonlySet<number | undefined> = new Set([11, 26])

export function readFailed(what: string, cause: unknown): SuperstepError {
  if (isSuperstepError(cause)) return cause
  // What node:sqlite says of a number that is larger than any that is written here.
  const isOutOfRange = (Object(cause) as { code?: unknown }).code === "ERR_OUT_OF_RANGE"
  if (OF_DAMAGE.has(resultCode(cause)) || isOutOfRange)
    return corrupt(() => `${what} cannot be read`, `the file is damaged${why(cause)}`, cause)
  return new SuperstepError("STORE_READ_FAILED", `${what} cannot be read${why(cause)}.`, { cause })
}

const REPAIR =
  "Restore the file from a backup, or recover what is readable with superstep runs salvage; superstep doctor --store lists all damage."

export function corrupt(subject: Subject, what: string, cause?: unknown): SuperstepError {
  const text = `${subject()}: ${what}. ${REPAIR}`
  return new SuperstepError("STORE_CORRUPT", text, { cause })
}

/** Without the advice: lists of damage give it once. */
export function messageOfDamage(error: unknown): string {
  return error instanceof Error ? error.message.replace(` ${REPAIR}`, "") : String(error)
}

export function tablesDamaged(cause: unknown): SuperstepError {
  return corrupt(
    () => "The tables of the store are damaged",
    `SQLite does not accept them${why(cause)}`,
    cause,
  )
}

/** The start of a sentence about damage: `Run "x" is damaged`. Only called when there is damage. */
export type Subject = () => string

export function outdated(path: string, now: unknown, own: number): SuperstepError {
  const text = `${path} was migrated to version ${now} by a newer Superstep while this process, which writes version ${own}, had it open. Restart this process with the newer version: its runs continue there.`
  return new SuperstepError("STORE_OUTDATED", text, { retryable: false })
}

export function isClosed(): SuperstepError {
  return new SuperstepError("STORE_CLOSED", "The store is closed: open it again with sqliteStore().")
}

function why(cause: unknown): string {
  return cause instanceof Error ? `: ${cause.message}` : ""
}

const BUSY = 5

/** Whether another process has the file locked: an error of SQLite, or one of ours that it caused. */
export function isBusy(error: unknown): boolean {
  return resultCode(isSuperstepError(error) ? error.cause : error) === BUSY
}

/** The end of a sentence: which process has the lock, if that is known, and what to do. */
export function lockedBy(path: string): string {
  const pid = lockHolder(path)
  if (pid === undefined) {
    return `${path} is locked by another process: stop that process if it hangs, then try again`
  }
  const what = isStopped(pid)
    ? `which is stopped: resume it (kill -CONT ${pid}) or kill it`
    : "which is still writing: wait for it, or stop it if it hangs"
  return `${path} is locked by process ${pid}, ${what}; then try again`
}

/** SQLite's locks: of the writer to the log, in its shared memory; and on a file that has no log yet. */
const WRITER = 120
const PENDING = 0x40000000

/** Linux lists the locks of all visible processes; other systems do not. */
function lockHolder(path: string): number | undefined {
  let locks: string
  try {
    locks = readFileSync("/proc/locks", "utf8")
  } catch {
    return undefined
  }
  const [file, shared] = [path, `${path}-shm`].map(
    (name) => statSync(name, { throwIfNoEntry: false })?.ino ?? -1,
  )
  for (const line of locks.split("\n")) {
    const [, pid, inode, start] = /WRITE\s+(\d+)\s+\w+:\w+:(\d+)\s+(\d+)/.exec(line) ?? []
    const isLock =
      (Number(inode) === shared && Number(start) === WRITER) ||
      (Number(inode) === file && Number(start) >= PENDING)
    if (isLock && Number(pid) > 0 && Number(pid) !== process.pid) return Number(pid)
  }
  return undefined
}

function isStopped(pid: number): boolean {
  try {
    return /^State:\s+[Tt]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch {
    return false
  }
}
