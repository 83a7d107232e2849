/** Packages that users install only if they need them. For the packages of this repository. */

export { AUTO_MODEL, autoModel, MODEL_PROVIDERS, type ModelProvider } from "./model-providers.ts"
export {
  importOptional,
  type OptionalPackage,
  requireAt,
  requireFrom,
  requireOptional,
  resolveOptional,
} from "./optional-package.ts"
