/** `import "superstep"` loads the engine and nothing else. */
import { spawnSync } from "node:child_process"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

const root = resolve(import.meta.dirname, "..")

/** What importing an entry loads: folders of the engine, and packages. */
function loadedBy(entry: string): { folders: string[]; packages: string[] } {
  const flags = [
    "--conditions=@superstep/source",
    "--import",
    import.meta.resolve("tsx"),
    "--import",
    join(root, "tests", "loaded-modules.mjs"),
  ]
  const program = `await import(${JSON.stringify(entry)})`
  const { stdout, stderr } = spawnSync(process.execPath, [...flags, "--input-type=module", "-e", program], {
    cwd: root,
    encoding: "utf8",
  })
  const files = [...stdout.matchAll(/^loaded (file:\S+)$/gm)].map((match) =>
    fileURLToPath(new URL(match[1] as string).href),
  )
  expect(files.length, stderr).toBeGreaterThan(0)
  const packages = files.flatMap(
    (file) => /node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(file)?.[1] ?? [],
  )
  const folders = files.flatMap((file) => /engine[\\/]src[\\/](\w+)[\\/]/.exec(file)?.[1] ?? [])
  return { folders: [...new Set(folders)].sort(), packages: [...new Set(packages)].sort() }
}

test("superstep loads the engine's own layers and one small package", { timeout: 60_000 }, () => {
  const { folders, packages } = loadedBy("superstep")
  expect(folders).toEqual([
    "builder",
    "core",
    "diagrams",
    "history",
    "protocol",
    "runtime",
    "schedules",
    "service",
    "stores",
    "text",
  ])
  expect(packages).toEqual(["uuidv7"])
})

test("superstep/patterns loads no parser of Markdown: reports do, when they are written", {
  timeout: 60_000,
}, () => {
  const { packages } = loadedBy("superstep/patterns")
  expect(packages.filter((name) => /markdown|micromark/.test(name))).toEqual([])
})

test("superstep/protocol brings schemas, and nothing of the driver", { timeout: 60_000 }, () => {
  const { folders, packages } = loadedBy("superstep/protocol")
  expect(folders).toEqual(["core", "protocol", "text"])
  expect(packages).toEqual(["zod"])
})
