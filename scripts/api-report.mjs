// Writes one report per package entry into packages/<package>/api/, from the built declarations.
// With --check nothing is written: a report that is missing, out of date or left over is an error.
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { basename, join, relative, resolve } from "node:path"
import { CompilerState, Extractor, ExtractorConfig, ExtractorLogLevel } from "@microsoft/api-extractor"

const root = resolve(import.meta.dirname, "..")
const check = process.argv.includes("--check")

const problems = readdirSync(join(root, "packages"))
  .sort()
  .flatMap((name) => reportPackage(join(root, "packages", name)))

for (const problem of problems) console.error(problem)
if (problems.length > 0) {
  console.error(
    "\nIs the change of the public API meant? Run `npm run build && npm run api`, commit the reports.",
  )
  process.exitCode = 1
} else {
  console.log(check ? "The API reports are up to date." : "The API reports are written.")
}

/**
 * @param {string} directory the package
 * @returns {string[]} what is wrong
 */
function reportPackage(directory) {
  const { exports } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"))
  /** @type {string[]} */
  const entries = Object.values(exports ?? {}).flatMap(({ types }) => (types ? join(directory, types) : []))
  const [first, ...others] = entries
  if (first === undefined) return []
  const missing = entries.filter((entry) => !existsSync(entry))
  if (missing.length > 0)
    return missing.map((entry) => `${relative(root, entry)} is missing: run \`npm run build\``)

  mkdirSync(join(directory, "api"), { recursive: true })
  const compilerState = CompilerState.create(configure(directory, first), { additionalEntryPoints: others })
  const found = entries.flatMap((entry) => reportEntry(configure(directory, entry), compilerState))
  return [...found, ...dropLeftOver(join(directory, "api"), entries)]
}

/**
 * @param {ExtractorConfig} config
 * @param {CompilerState} compilerState the package's, so that its declarations are read once
 * @returns {string[]} what is wrong
 */
function reportEntry(config, compilerState) {
  /** @type {string[]} */
  const found = []
  const result = Extractor.invoke(config, {
    compilerState,
    localBuild: !check,
    messageCallback(message) {
      message.handled = true
      if (message.logLevel === ExtractorLogLevel.Error) found.push(message.formatMessageWithLocation(root))
    },
  })
  if (check && result.apiReportChanged) {
    const committed = relative(root, config.reportFilePath)
    found.push(
      `${committed} is out of date:\n${difference(committed, relative(root, config.reportTempFilePath))}`,
    )
  }
  return found
}

/**
 * @param {string} reports the package's folder of reports
 * @param {string[]} entries its entries' declarations
 * @returns {string[]} what is wrong
 */
function dropLeftOver(reports, entries) {
  const wanted = entries.map((entry) => `${basename(entry, ".d.ts")}.api.md`)
  const leftOver = readdirSync(reports).filter((file) => !wanted.includes(file))
  if (check) return leftOver.map((file) => `${relative(root, join(reports, file))} belongs to no entry`)
  for (const file of leftOver) rmSync(join(reports, file))
  return []
}

/**
 * @param {string} directory the package
 * @param {string} entry its entry's declarations
 */
function configure(directory, entry) {
  return ExtractorConfig.prepare({
    packageJsonFullPath: join(directory, "package.json"),
    configObjectFullPath: undefined,
    configObject: {
      projectFolder: directory,
      mainEntryPointFilePath: entry,
      newlineKind: "lf",
      compiler: {
        // A consumer's view: no "@superstep/source" condition, so packages see each other as they are published.
        overrideTsconfig: {
          compilerOptions: {
            target: "ES2023",
            lib: ["ES2023"],
            types: ["node"],
            module: "nodenext",
            strict: true,
            exactOptionalPropertyTypes: true,
            skipLibCheck: true,
          },
          files: [entry],
        },
      },
      apiReport: {
        enabled: true,
        reportFileName: basename(entry, ".d.ts"),
        reportFolder: join(directory, "api"),
        reportTempFolder: join(root, ".build", "api", basename(directory)),
        // A type that is reachable, though exported by another entry, is part of what users see.
        includeForgottenExports: true,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
        extractorMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
        tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
      },
    },
  })
}

/**
 * @param {string} committed
 * @param {string} current
 */
function difference(committed, current) {
  const before = existsSync(join(root, committed)) ? committed : "/dev/null"
  return spawnSync("git", ["diff", "--no-index", "--no-color", before, current], {
    cwd: root,
    encoding: "utf8",
  }).stdout
}
