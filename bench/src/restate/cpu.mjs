// Processor time of processes, by what they are.
import { readdirSync, readFileSync } from "node:fs"

const TICK_MS = 10

/** Milliseconds of processor time so far of this process and its children, by kind. Undefined where the system does not tell. */
export function cpuByKind() {
  const all = processes()
  if (all === undefined) return undefined
  const children = new Map()
  for (const one of all) children.set(one.parent, [...(children.get(one.parent) ?? []), one])
  const sums = { caller: 0, workers: 0, restate: 0, postgres: 0 }
  const add = (pid, above) => {
    for (const one of children.get(pid) ?? []) {
      const kind = kindOf(one.name) ?? above
      if (kind !== undefined) sums[kind] += one.milliseconds
      add(one.pid, kind)
    }
  }
  const { user, system } = process.cpuUsage()
  sums.caller = (user + system) / 1_000
  add(process.pid, undefined)
  return sums
}

function kindOf(name) {
  if (name.startsWith("restate")) return "restate"
  if (name.startsWith("postgres")) return "postgres"
  return name.startsWith("node") ? "workers" : undefined
}

function processes() {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => statOf(Number(name)))
  } catch {
    return undefined
  }
}

function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8")
    const end = text.lastIndexOf(")")
    const fields = text.slice(end + 2).split(" ")
    // Fields 4 (parent), 14 and 15 (own time), 16 and 17 (time of children that have ended) of proc(5).
    const ticks = [11, 12, 13, 14].reduce((sum, i) => sum + Number(fields[i]), 0)
    const name = text.slice(text.indexOf("(") + 1, end)
    return [{ pid, parent: Number(fields[1]), name, milliseconds: ticks * TICK_MS }]
  } catch {
    // It has ended meanwhile.
    return []
  }
}
