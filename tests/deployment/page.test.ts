/** The files of docs/deployment.md: their flags, ports and times fit the worker, and each other. */
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { parseAllDocuments } from "yaml"
import { superstep, testIo } from "../../packages/superstep/src/command/test-io.test-support.ts"
import { blocksOf } from "../doc-blocks.test-support.ts"

const PAGE = "docs/deployment.md"

function block(kind: string): string {
  const found = blocksOf(PAGE).filter((one) => one.kind === kind)
  expect(found).toHaveLength(1)
  return found[0]?.text as string
}

/** The worker takes these arguments, but for the store, the folder and the port, which are those of the test. */
async function works(args: readonly string[], get: (port: string) => Promise<void>): Promise<void> {
  const text = `name: a\nworkflow: [{ id: ask, type: human, prompt: "?" }]\n`
  const io = testIo()
  mkdirSync(join(io.cwd, "flows"))
  writeFileSync(join(io.cwd, "flows/a.yaml"), text)
  const own = replaced(replaced(args, "--store", "sqlite:runs.db"), "--health", "0")
  const working = superstep(own, io)
  await io.seen('"type":"health"')
  await get(/"port":(\d+)/.exec(io.written.stdout)?.[1] as string)
  io.interrupt()
  expect((await working).code).toBe(0)
}

function replaced(args: readonly string[], flag: string, value: string): string[] {
  expect(args).toContain(flag)
  return args.map((arg, i) => (args[i - 1] === flag ? value : arg))
}

function flagOf(args: readonly string[], flag: string): string {
  return args[args.indexOf(flag) + 1] as string
}

const secondsOf = (args: readonly string[]) => Number(/^(\d+)s$/.exec(flagOf(args, "--grace"))?.[1])

/** `Name=value` by section. */
function unit(): { readonly [section: string]: { readonly [name: string]: string } } {
  const sections: Record<string, Record<string, string>> = {}
  let section: Record<string, string> = {}
  for (const line of block("ini").split("\n")) {
    const [, title] = /^\[(\w+)\]$/.exec(line) ?? []
    const [, name, value] = /^(\w+)=(.*)$/.exec(line) ?? []
    if (title !== undefined) {
      section = {}
      sections[title] = section
    } else if (name !== undefined) section[name] = value as string
    else expect(line).toMatch(/^(#.*)?$/)
  }
  return sections
}

interface Container {
  readonly args: readonly string[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly startupProbe: Probe
  readonly readinessProbe: Probe
  readonly livenessProbe: Probe
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}

interface Manifest {
  readonly kind: string
  readonly spec: {
    readonly replicas: number
    readonly minAvailable: number
    readonly selector: { readonly matchLabels: object }
    readonly template: {
      readonly metadata: { readonly labels: object }
      readonly spec: {
        readonly terminationGracePeriodSeconds: number
        readonly containers: readonly Container[]
      }
    }
  }
}

function manifests(): readonly Manifest[] {
  const documents = parseAllDocuments(block("yaml"))
  if ("empty" in documents) throw new Error("The page has no manifests.")
  expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([])
  return documents.map((document) => document.toJS() as Manifest)
}

/** Instructions with their arguments; the exec form as a list. */
function dockerfile(): Map<string, string | readonly string[]> {
  const lines = block("dockerfile")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
  return new Map(
    lines.map((line) => {
      const [, name = "", rest = ""] = /^([A-Z]+) (.+)$/.exec(line) ?? []
      expect(["FROM", "WORKDIR", "ENV", "COPY", "RUN", "USER", "EXPOSE", "ENTRYPOINT", "CMD"]).toContain(name)
      return [name, rest.startsWith("[") ? (JSON.parse(rest) as string[]) : rest]
    }),
  )
}

/** Both health paths answer. */
async function isHealthy(port: string): Promise<void> {
  for (const path of ["healthz", "readyz"])
    expect((await fetch(`http://127.0.0.1:${port}/${path}`)).status).toBe(200)
}

describe("systemd", () => {
  test("the worker takes the arguments of the unit, and has more time to stop than its grace", async () => {
    const { ExecStart = "", WorkingDirectory, TimeoutStopSec } = unit().Service ?? {}
    const [program, ...args] = ExecStart.split(" ")
    expect(program).toBe(`${WorkingDirectory}/node_modules/.bin/superstep`)
    expect(Number(TimeoutStopSec)).toBeGreaterThan(secondsOf(args) + 10)
    await works(args, isHealthy)
  })

  const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0
  test.skipIf(!hasSystemd)("systemd accepts the unit (needs systemd-analyze)", () => {
    const folder = mkdtempSync(join(tmpdir(), "superstep-unit-"))
    try {
      const file = join(folder, "superstep-worker.service")
      // Its program and its user are not on this machine.
      writeFileSync(
        file,
        block("ini")
          .replace(/ExecStart=\S+/, "ExecStart=/bin/true")
          .replace("User=superstep", "User=root"),
      )
      const { status, stderr } = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" })
      expect(stderr.split("\n").filter((line) => line.includes("superstep-worker"))).toEqual([])
      expect(status).toBe(0)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

describe("containers", () => {
  const image = dockerfile()
  const [program, ...entry] = image.get("ENTRYPOINT") as readonly string[]

  test("the worker is the process of the image, with arguments that it takes", async () => {
    expect(program).toBe("node_modules/.bin/superstep")
    expect(image.get("EXPOSE")).toBe(flagOf(entry, "--health"))
    await works([...entry, ...(image.get("CMD") as readonly string[])], isHealthy)
  })

  test("pods are probed where the worker answers, and have more time to stop than its grace", async () => {
    const [deployment, budget] = manifests() as [Manifest, Manifest]
    expect([deployment.kind, budget.kind]).toEqual(["Deployment", "PodDisruptionBudget"])
    const { template, selector, replicas } = deployment.spec
    expect(template.metadata.labels).toEqual(selector.matchLabels)
    expect(budget.spec.selector).toEqual(selector)
    expect(budget.spec.minAvailable).toBeLessThan(replicas)
    expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(secondsOf(entry) + 10)
    const [container] = template.spec.containers as [Container]
    expect(container.ports.map(({ name, containerPort }) => [name, `${containerPort}`])).toEqual([
      ["health", flagOf(entry, "--health")],
    ])
    const { startupProbe, readinessProbe, livenessProbe } = container
    const probes = [startupProbe, readinessProbe, livenessProbe].map(({ httpGet }) => httpGet)
    expect(probes.map(({ port }) => port)).toEqual(["health", "health", "health"])
    await works([...entry, ...container.args], async (port) => {
      for (const { path } of probes) expect((await fetch(`http://127.0.0.1:${port}${path}`)).status).toBe(200)
    })
  })
})
