/**
 * Starts Restate servers from npm for tests and benchmarks: one, or a cluster of several whose log is replicated. Data are in a
 * temporary folder.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { rmSync } from "node:fs"
import { mkdir, mkdtemp, writeFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { type AddressInfo, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"

interface RestateNode {
  readonly ingress: string
  readonly admin: string
  /** The port on which other nodes reach it. */
  readonly fabric: number
  readonly isRunning: boolean
  /** SIGKILL. */
  kill(): Promise<void>
  /** Starts it on its data again. Resolves when it answers. */
  start(): Promise<void>
  /** The end of what it has printed. */
  log(): string
}

export interface RestateServer {
  readonly nodes: readonly RestateNode[]
  /** The ingress of the first node. */
  readonly ingress: string
  readonly admin: string
  stop(): Promise<void>
}

interface RestateOptions {
  /** Default 1. */
  readonly nodes?: number
  /** Default 4. */
  readonly partitions?: number
  /** Under which port the others reach a node, if not its own: that of a proxy. */
  readonly advertised?: (node: number, port: number) => Promise<number>
}

/** Megabytes for the databases of one node. */
const MEMORY = 256

const program = createRequire(import.meta.url).resolve(
  `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
)

export async function startRestate(options: RestateOptions = {}): Promise<RestateServer> {
  const { nodes: count = 1, partitions = 4, advertised = async (_, port) => port } = options
  const folder = await mkdtemp(join(tmpdir(), "superstep-restate-"))
  const ports = await freePorts(3 * count)
  const fabric = ports.slice(0, count)
  const seen = await Promise.all(fabric.map((port, i) => advertised(i, port)))
  const nodes: StartedNode[] = []
  for (const [i, port] of fabric.entries()) {
    const path = join(folder, `node${i}`)
    await mkdir(path)
    const [ingress, admin] = [ports[count + 2 * i], ports[count + 2 * i + 1]]
    const config = `
node-name = "node${i}"
cluster-name = "superstep-tests"
auto-provision = ${i === 0}
default-num-partitions = ${partitions}
default-replication = ${count > 1 ? 2 : 1}
base-dir = "${path}"
listen-mode = "tcp"
bind-address = "127.0.0.1:${port}"
advertised-address = "http://127.0.0.1:${seen[i]}"
disable-telemetry = true
disable-prometheus = true
log-disable-ansi-codes = true
log-filter = "warn"
rocksdb-total-memory-size = "${MEMORY} MiB"
[metadata-client]
addresses = [${seen.map((one) => `"http://127.0.0.1:${one}"`).join(", ")}]
[admin]
bind-address = "127.0.0.1:${admin}"
disable-web-ui = true
[ingress]
bind-address = "127.0.0.1:${ingress}"
[worker.invoker]
http2-keep-alive-interval = "3s"
http2-keep-alive-timeout = "3s"
concurrent-invocations-limit = 5000
`
    await writeFile(join(path, "restate.toml"), config)
    nodes.push(new StartedNode(path, ingress as number, admin as number, port))
  }
  const clear = () => {
    for (const node of nodes) node.killNow()
    rmSync(folder, { recursive: true, force: true })
  }
  process.once("exit", clear)
  try {
    await Promise.all(nodes.map((node) => node.start()))
  } catch (error) {
    process.off("exit", clear)
    clear()
    throw error
  }
  const [first] = nodes as [StartedNode]
  return {
    nodes,
    ingress: first.ingress,
    admin: first.admin,
    async stop() {
      await Promise.all(nodes.map((node) => node.kill()))
      process.off("exit", clear)
      clear()
    },
  }
}

class StartedNode implements RestateNode {
  readonly ingress: string
  readonly admin: string
  readonly fabric: number
  readonly #path: string
  #child: ChildProcess | undefined
  #log = ""

  constructor(path: string, ingress: number, admin: number, fabric: number) {
    this.#path = path
    this.ingress = `http://127.0.0.1:${ingress}`
    this.admin = `http://127.0.0.1:${admin}`
    this.fabric = fabric
  }

  get isRunning(): boolean {
    return this.#child !== undefined
  }

  log(): string {
    return this.#log
  }

  async start(): Promise<void> {
    const child = spawn(program, ["--no-logo", "--config-file", join(this.#path, "restate.toml")], {
      stdio: ["ignore", "pipe", "pipe"],
    })
    this.#child = child
    const read = (part: Buffer) => {
      this.#log = (this.#log + part).slice(-20_000)
    }
    child.stdout?.on("data", read)
    child.stderr?.on("data", read)
    child.once("exit", () => {
      if (this.#child === child) this.#child = undefined
    })
    for (let tried = 0; tried < 600; tried++) {
      // It was killed while it started, or could not start.
      if (this.#child !== child) {
        if (child.signalCode === "SIGKILL") return
        throw new Error(`Restate did not start:\n${this.#log}`)
      }
      if (
        (await this.#answers(`${this.admin}/health`)) &&
        (await this.#answers(`${this.ingress}/restate/health`))
      )
        return
      await setTimeout(50)
    }
    throw new Error(`Restate does not answer:\n${this.#log}`)
  }

  async #answers(url: string): Promise<boolean> {
    try {
      return (await fetch(url)).ok
    } catch {
      return false
    }
  }

  killNow(): void {
    this.#child?.kill("SIGKILL")
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    await new Promise((resolve) => {
      child.once("exit", resolve)
      child.kill("SIGKILL")
    })
  }
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer()
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject).listen(0, "127.0.0.1", resolve)
      })
      return server
    }),
  )
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
