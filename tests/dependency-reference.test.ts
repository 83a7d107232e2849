/** docs/dependencies.md has a line for each dependency of each package, and no other. */
import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { describe, expect, test } from "vitest"

const root = resolve(import.meta.dirname, "..")

type Versions = Readonly<Record<string, string>>

interface Manifest {
  readonly name: string
  readonly dependencies?: Versions
  readonly optionalDependencies?: Versions
  readonly peerDependencies?: Versions
  readonly devDependencies?: Versions
}

const folders = readdirSync(join(root, "packages"))
const manifests = folders.map((folder) => readJson<Manifest>(join("packages", folder, "package.json")))
const own = new Set(manifests.map(({ name }) => name))
const lock = readJson<{ readonly packages: Readonly<Record<string, { readonly license?: string }>> }>(
  "package-lock.json",
)

/** What a package needs of others, by name. Its `devDependencies` are in its built files; tools are those of the root. */
function needs({ dependencies, optionalDependencies, peerDependencies, devDependencies }: Manifest) {
  const kinds = {
    dependency: dependencies,
    optional: optionalDependencies,
    peer: peerDependencies,
    bundled: devDependencies,
  }
  const all = Object.entries(kinds).flatMap(([kind, versions = {}]) =>
    Object.keys(versions).map((name) => [name, kind] as const),
  )
  return new Map(all.filter(([name]) => !own.has(name)))
}

interface Row {
  readonly name: string
  readonly kind: string
  readonly cells: readonly string[]
  readonly licence: string
}

const page = readFileSync(join(root, "docs", "dependencies.md"), "utf8")
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.split("\n", 1)[0]?.replaceAll("`", "") ?? "", section]),
)

/** A line may name several packages that share one reason. */
function rowsOf(section = ""): Row[] {
  const lines = section.matchAll(/^\| (`[^|]*`) \| ([^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$/gm)
  return [...lines].flatMap(([, names = "", kind = "", does = "", why = "", licence = ""]) =>
    [...names.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => ({ name, kind, cells: [does, why], licence })),
  )
}

describe.each(manifests)("$name", (manifest) => {
  const rows = rowsOf(sections.get(manifest.name))

  test("has a line for each dependency, with its kind", () => {
    const lines = rows.map(({ name, kind }) => `${name}: ${kind}`)
    expect(lines.toSorted()).toEqual(
      [...needs(manifest)].map(([name, kind]) => `${name}: ${kind}`).toSorted(),
    )
  })

  test("says of each what it does and why it was chosen, in sentences", () => {
    for (const { name, cells } of rows) for (const cell of cells) expect(cell, name).toMatch(/\.$/)
  })

  test("names the licence that the lock file has", () => {
    for (const { name, licence } of rows) {
      const found = lockedLicence(name)
      if (found === undefined) expect(licence, name).not.toBe("")
      else expect(licence, name).toBe(found)
    }
  })
})

test("the page has a section for each package, and one for what is done by hand", () => {
  expect([...sections.keys()].toSorted()).toEqual([...own, "By hand"].toSorted())
})

/** Undefined for a peer that is not installed in this repository. */
function lockedLicence(name: string): string | undefined {
  const places = [...folders.map((folder) => `packages/${folder}/`), ""]
  const found = places.map((place) => lock.packages[`${place}node_modules/${name}`])
  return found.find((entry) => entry !== undefined)?.license
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(join(root, path), "utf8")) as T
}
