/**
 * The packages as `npm pack` makes them, installed in projects without a network: tarballs are unpacked, and what they
 * depend on is linked from this repository.
 */
import { execFileSync, spawnSync } from "node:child_process"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"

export const root = resolve(import.meta.dirname, "../..")

interface Manifest {
  readonly name: string
  readonly version: string
  readonly bin?: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly [field: string]: unknown
}

export interface Tarball {
  /** Of the package in this repository. */
  readonly folder: string
  readonly manifest: Manifest
  readonly file: string
  readonly paths: readonly string[]
}

interface Packed {
  readonly name: string
  readonly filename: string
  readonly files: readonly { readonly path: string }[]
}

export function ensureBuilt(): void {
  const built = existsSync(join(root, "packages/superstep/dist/whole.cjs"))
  if (!built) execFileSync("npm", ["run", "build"], { cwd: root })
}

/** All packages of this repository, packed into a folder. They must be built. */
export function pack(destination: string): Tarball[] {
  const argv = ["pack", "--workspaces", "--json", "--ignore-scripts", "--pack-destination", destination]
  const output = execFileSync("npm", argv, {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  })
  const folders = readdirSync(join(root, "packages")).map((name) => join(root, "packages", name))
  return (JSON.parse(output) as Packed[]).map(({ name, filename, files }) => {
    const folder = folders.find((one) => manifestIn(one).name === name) as string
    const paths = files.map(({ path }) => path).sort()
    return { folder, manifest: manifestIn(folder), file: join(destination, filename), paths }
  })
}

function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest
}

/** The entries that can be imported, by the name to import them by. */
export function entriesOf({ manifest }: Tarball): string[] {
  return Object.entries(manifest.exports).flatMap(([entry, target]) =>
    typeof target === "object" && target.types !== undefined ? [manifest.name + entry.slice(1)] : [],
  )
}

/** Packages that a user may or may not have installed. */
export function optionalOf({ manifest }: Tarball): string[] {
  return Object.keys({ ...manifest.optionalDependencies, ...manifest.peerDependencies })
}

/** A project with these packages, what they need, and of optional packages those that are named. */
export function projectWith(tarballs: readonly Tarball[], others: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "superstep-project-"))
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "project", private: true }))
  for (const { folder: source, manifest, file } of tarballs) {
    const place = join(folder, "node_modules", manifest.name)
    mkdirSync(place, { recursive: true })
    execFileSync("tar", ["-xzf", file, "-C", place, "--strip-components=1"])
    for (const name of Object.keys(manifest.dependencies ?? {})) {
      if (!tarballs.some((one) => one.manifest.name === name)) link(folder, name, source)
    }
  }
  for (const name of others) link(folder, name, root)
  return folder
}

function link(project: string, name: string, from: string): void {
  const place = join(project, "node_modules", name)
  if (existsSync(place)) return
  const folders = [join(from, "node_modules", name), join(root, "node_modules", name)]
  const target = folders.find((folder) => existsSync(folder))
  if (target === undefined) throw new Error(`${name} is not installed in this repository: npm ci`)
  mkdirSync(dirname(place), { recursive: true })
  symlinkSync(target, place, "junction")
}

export interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program of this text in a folder. */
export function runText(folder: string, name: string, text: string, flags: readonly string[] = []): Ended {
  writeFileSync(join(folder, name), text)
  return runFile(folder, join(folder, name), flags)
}

export function runFile(cwd: string, file: string, flags: readonly string[] = []): Ended {
  // Nothing of how the tests themselves run.
  const { NODE_OPTIONS: _, NODE_PATH: __, ...env } = process.env
  return spawnSync(process.execPath, [...flags, file], { cwd, env, encoding: "utf8" })
}
