// The stores that workers share, each with an address for every sample, and a meter of its server's processor time.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import pg from "pg"
import { makeFolder, removeFolder } from "../durable/folder.mjs"
import { benchServer } from "../postgres/server.mjs"

/** Of /proc/…/stat, where a tick is a hundredth of a second. */
const MS_PER_TICK = 10

/**
 * Each returns `name`; `address()`, of an empty store; `remove(address)`; `cpu()`, the milliseconds of processor time that its
 * server has taken, undefined where there is none or it cannot be seen; and `stop()`.
 */
export const storeKinds = {
  async postgres({ url: given }) {
    const { url, isOwn, stop } = await benchServer(given)
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const [{ pid }] = (await client.query("SELECT pg_backend_pid() AS pid")).rows
    const postmaster = isOwn ? statOf(pid)?.parent : undefined
    let count = 0
    return {
      name: "PostgreSQL",
      address: () => `${url}#bench_scaling_${count++}`,
      remove: (address) => client.query(`DROP SCHEMA ${new URL(address).hash.slice(1)} CASCADE`),
      cpu: () => (postmaster === undefined ? undefined : cpuOf(postmaster)),
      async stop() {
        await client.end()
        await stop()
      },
    }
  },
  async sqlite() {
    return {
      name: "SQLite",
      address: () => join(makeFolder(), "bench.db"),
      remove: (address) => removeFolder(join(address, "..")),
      cpu: () => undefined,
      stop: async () => undefined,
    }
  },
}

/** The parent of a process, and the ticks that it and its ended children took; undefined where there is no /proc. */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8")
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
    const [own, children] = [fields.slice(11, 13), fields.slice(13, 15)].map((ticks) =>
      ticks.reduce((sum, one) => sum + Number(one), 0),
    )
    return { parent: Number(fields[1]), own, children }
  } catch {
    return undefined
  }
}

/** A server is a process for each connection, and some more: all are children of one. */
function cpuOf(postmaster) {
  const main = statOf(postmaster)
  if (main === undefined) return undefined
  const living = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(statOf)
    .filter((stat) => stat?.parent === postmaster)
  return (main.own + main.children + living.reduce((sum, { own }) => sum + own, 0)) * MS_PER_TICK
}
