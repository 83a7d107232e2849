/** What `npm pack` puts into the tarballs, and what a bundler or an editor finds there. Needs what `npm run build` leaves. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join, posix } from "node:path"
import { gzipSync } from "node:zlib"
import enhancedResolve from "enhanced-resolve"
import { build } from "esbuild"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { ensureBuilt, entriesOf, optionalOf, pack, projectWith, root, type Tarball } from "./installed.ts"

const folder = mkdtempSync(join(tmpdir(), "superstep-packed-"))
let tarballs: Tarball[]
let project: string

beforeAll(() => {
  ensureBuilt()
  const dist = join(root, "packages/superstep/dist")
  // As it is left by the command when it runs in a clone.
  mkdirSync(join(dist, "compiled"), { recursive: true })
  writeFileSync(join(dist, "compiled", "left-by-a-test"), "")
  tarballs = pack(folder)
  rmSync(join(dist, "compiled", "left-by-a-test"))
  project = projectWith(tarballs, [])
}, 600_000)

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
  rmSync(project, { recursive: true, force: true })
})

/** Text files of an installed package, by their path in it. */
function* filesOf({ manifest, paths }: Tarball, pattern: RegExp): Generator<[path: string, text: string]> {
  for (const path of paths.filter((one) => pattern.test(one))) {
    yield [path, readFileSync(join(project, "node_modules", manifest.name, path), "utf8")]
  }
}

describe("a tarball", () => {
  test("has the build, the sources, the licence and the README, and nothing else", () => {
    const expected =
      /^(?:package\.json|README\.md|LICENSE|bin\/superstep\.cjs|dist\/[\w-]+\.(?:js|js\.map|d\.ts|cjs)|dist\/(?:whole\.)?licenses\.txt|dist\/app\/(?:[\w-]+\.(?:html|svg|txt)|assets\/[\w.-]+\.(?:js|css))|examples\/[\w-]+\.yaml|src\/[\w/-]+\.ts|src\/models\/model-prices\.json)$/
    expect(tarballs).toHaveLength(10)
    for (const { manifest, paths } of tarballs) {
      expect(paths.filter((path) => !expected.test(path))).toEqual([])
      expect(paths).toEqual(expect.arrayContaining(["LICENSE", "README.md", "package.json", "src/index.ts"]))
      const targets = Object.values(manifest.exports).flatMap((target) =>
        typeof target === "string" ? [target] : Object.values(target),
      )
      for (const target of [...targets, ...Object.values(manifest.bin ?? {})]) {
        expect(paths).toContain(posix.normalize(target))
      }
    }
  })

  test("says where it comes from and which Node it needs", () => {
    for (const { folder, manifest } of tarballs) {
      const directory = `packages/${basename(folder)}`
      expect(manifest).toMatchObject({
        repository: { type: "git", url: "git+https://github.com/superstep-dev/superstep.git", directory },
        homepage: `https://github.com/superstep-dev/superstep/tree/main/${directory}#readme`,
        bugs: { url: "https://github.com/superstep-dev/superstep/issues" },
        keywords: expect.arrayContaining(["ai", "agents"]),
        engines: { node: "^20.19.0 || >=22.12.0" },
        license: "Apache-2.0",
      })
    }
  })

  test("has each source once: source maps name it, and do not repeat it", () => {
    for (const tarball of tarballs) {
      for (const [path, text] of filesOf(tarball, /\.map$/)) {
        const { sources, sourcesContent } = JSON.parse(text) as Record<string, string[] | undefined>
        expect(sourcesContent ?? []).toEqual([])
        const own = (sources ?? []).filter((source) => !source.includes("node_modules"))
        const missing = own.filter((source) => !tarball.paths.includes(posix.join("dist", source)))
        expect([path, missing]).toEqual([path, []])
      }
    }
  })

  test("names no source map that it does not have", () => {
    for (const tarball of tarballs) {
      for (const [path, text] of filesOf(tarball, /^dist\/.*(?:\.c?js|\.d\.ts)$/)) {
        const named = [...text.matchAll(/^\/\/# sourceMappingURL=(\S+)$/gm)].map(
          ([, name = ""]) => `dist/${name}`,
        )
        expect([path, named.filter((name) => !tarball.paths.includes(name))]).toEqual([path, []])
      }
    }
  })

  test("is not minified", () => {
    for (const tarball of tarballs) {
      // What browsers load, in dist/app, is.
      for (const [path, text] of filesOf(tarball, /^dist\/[^/]*\.c?js$/)) {
        const code = text.split("\n").filter((line) => !/^(?:import|export) /.test(line))
        expect([path, code.join("\n").length / code.length < 100]).toEqual([path, true])
      }
    }
  })

  test("imports no optional package by a name that bundlers see", () => {
    const optional = new Set(tarballs.flatMap(optionalOf))
    expect(optional.size).toBeGreaterThan(15)
    for (const tarball of tarballs) {
      for (const [path, text] of filesOf(tarball, /^dist\/[^/]*\.js$/)) {
        const literal = [...text.matchAll(/\b(?:from|import|require)[\s(]*["']([^"'\n]+)["']/g)]
        const own = tarball.manifest.dependencies ?? {}
        const seen = literal.filter(([, name = ""]) => optional.has(name) && !Object.hasOwn(own, name))
        expect([path, seen.map(([, name]) => name)]).toEqual([path, []])
      }
    }
  })

  test("has no imported createRequire and no typeof __filename, which webpack replaces by what does not hold", () => {
    // The command is not for bundling.
    for (const tarball of tarballs.filter(({ manifest }) => manifest.name !== "superstep")) {
      for (const [path, text] of filesOf(tarball, /^dist\/[^/]*\.js$/)) {
        expect([path, /from "(?:node:)?module"|typeof __(?:file|dir)name/.test(text)]).toEqual([path, false])
      }
    }
  })

  test("has one copy of what it bundles: dependencies are imported, and the parsers of YAML and JSON are none", () => {
    const engine = tarballs.find(({ manifest }) => manifest.name === "@superstep/engine") as Tarball
    expect(engine.manifest.dependencies).not.toHaveProperty("yaml")
    expect(engine.manifest.dependencies).not.toHaveProperty("jsonc-parser")
    const having = (pattern: RegExp) =>
      [...filesOf(engine, /^dist\/.*\.js$/)].filter(([, text]) => pattern.test(text)).map(([path]) => path)
    expect(having(/\bclass YAMLParseError\b|\bYAMLParseError = class\b/)).toHaveLength(1)
    expect(having(/\$constructor\("\$ZodType"/)).toEqual([])
    const [[, licenses] = ["", ""]] = filesOf(engine, /licenses\.txt$/)
    expect(licenses.match(/^\S+ \d+\.\d+\.\d+$/gm)).toEqual([
      expect.stringMatching(/^jsonc-parser 3\./),
      expect.stringMatching(/^uuidv7 1\./),
      expect.stringMatching(/^yaml 2\./),
    ])
  })
})

test.each([
  ["a bundler for Node", ["node", "import"]],
  ["a bundler of CommonJS", ["node", "require"]],
  ["a bundler for browsers", ["browser", "import", "module"]],
  ["a bundler for an edge runtime", ["edge-light", "worker", "require"]],
])("%s resolves every entry to what was built", (_, conditionNames) => {
  const find = enhancedResolve.create.sync({ conditionNames, extensions: [".js"] })
  for (const entry of tarballs.flatMap(entriesOf)) {
    expect(find(project, entry)).toMatch(/[\\/]dist[\\/][\w-]+\.js$/)
  }
})

test("superstep/protocol for browsers is at most 25 KB gzipped", async () => {
  const { outputFiles } = await build({
    stdin: { contents: 'export * from "superstep/protocol"', resolveDir: project },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "browser",
    logLevel: "silent",
  })
  expect(gzipSync(outputFiles[0]?.contents ?? "").length).toBeLessThanOrEqual(25_000)
})
