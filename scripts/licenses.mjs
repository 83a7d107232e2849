// Whose code is in a bundle, and on what terms: a file beside it. For tsdown and Vite alike.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

/**
 * @param {string} fileName
 * @returns {import("tsdown").Rolldown.Plugin}
 */
export function licensesAs(fileName) {
  return {
    name: "licenses",
    generateBundle(_, bundle) {
      const modules = Object.values(bundle).flatMap((chunk) =>
        chunk.type === "chunk" ? chunk.moduleIds : [],
      )
      const folders = modules.flatMap(
        (id) => /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id.replace(/^\0/, "")) ?? [],
      )
      const texts = [...new Set(folders)].sort().map(licenseIn)
      if (texts.length > 0) this.emitFile({ type: "asset", fileName, source: texts.join("\n") })
    },
  }
}

/** @param {string} folder */
function licenseIn(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one))
  // It asks for nothing, and some packages do not repeat its text.
  if (file === undefined && license === "Unlicense")
    return `${name} ${version}\n\nUnlicense: public domain.\n`
  if (file === undefined) throw new Error(`${name} is bundled, and has no licence to go with it.`)
  return `${name} ${version}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`
}
