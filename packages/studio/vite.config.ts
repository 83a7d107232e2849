import { resolve } from "node:path"
import { preact } from "@preact/preset-vite"
import { defineConfig } from "vite"
import { licensesAs } from "../../scripts/licenses.mjs"

// The page names its assets relative to its <base>, so that a server can deliver the studio under any path. No script or style
// is inline: the content security policy of the server allows files of its own origin only.
export default defineConfig({
  root: resolve(import.meta.dirname, "src/app"),
  base: "./",
  plugins: [preact({ prefreshEnabled: false, devToolsEnabled: false }), licensesAs("licenses.txt")],
  resolve: { conditions: ["@superstep/source", "module", "browser", "development|production"] },
  css: { modules: { generateScopedName: "[name]_[local]_[hash:base64:4]" } },
  build: {
    outDir: resolve(import.meta.dirname, "dist/app"),
    emptyOutDir: true,
    target: "es2022",
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
})
