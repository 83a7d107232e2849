import { SuperstepError } from "@superstep/engine"

/** Loads a package that users install only if they need it; without it, says what to install and for what. */
export async function optionalPackage<T>(name: string, purpose: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    // As `import` says it, and as `require.resolve` does.
    const isMissing = /^(?:ERR_)?MODULE_NOT_FOUND$/.test(String((cause as { code?: unknown })?.code))
    const what = isMissing ? "is not installed" : "does not load"
    const message = `${purpose} needs the package ${name}, which ${what}: npm install ${name}`
    throw new SuperstepError("PACKAGE_MISSING", message, { cause, retryable: false })
  }
}
