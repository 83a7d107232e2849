/** A file that another process has locked: how long to wait until the next attempt, and who has it. */
import { readFileSync, statSync } from "node:fs"
import { isSuperstepError } from "@superstep/engine"
import { resultCode } from "./driver.ts"

const BUSY = 5

/** Milliseconds after which a wait is worth a notice. */
export const SAY_AFTER = 1_000

const LONGEST_PAUSE = 64

/** Also of an error that says so of a file that could not be opened. */
export function isBusy(error: unknown): boolean {
  return resultCode(isSuperstepError(error) ? error.cause : error) === BUSY
}

/** Milliseconds until the next attempt: random, so that those who wait do not all try at once. */
export function backOff(attempt: number): number {
  return Math.max(1, Math.min(2 ** attempt, LONGEST_PAUSE) * (0.5 + Math.random() / 2))
}

/** The end of a sentence about what waits: who has the lock, as far as that is known, and what to do. */
export function lockedBy(path: string): string {
  const pid = lockHolder(path)
  if (pid === undefined) {
    return `${path} is locked by another process: end that process if it hangs, then try again`
  }
  const what = isStopped(pid)
    ? `which is stopped: resume it (kill -CONT ${pid}) or end it`
    : "which is still writing: wait for it, or end it if it hangs"
  return `${path} is locked by process ${pid}, ${what}; then try again`
}

/** SQLite's locks: of the writer to the log, in its shared memory; and on a file that has no log yet. */
const WRITER = 120
const PENDING = 0x40000000

/** Linux lists the locks of all processes that this one can see; elsewhere it is not known. */
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
