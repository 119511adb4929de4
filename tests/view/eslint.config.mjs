// SPDX-License-Identifier: MIT
// eslint.config.mjs - what the linter looks for in the page and its tests: what
// ESLint recommends, and what of the rest finds faults and no matters of taste.
// Types and names that don't exist are TypeScript's to find (types).
import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    languageOptions: { globals: { ...globals.browser } },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "array-callback-return": "error", "consistent-return": "error",
      "default-case-last": "error", "eqeqeq": "error",
      "max-lines-per-function": ["error", { max: 60 }], "no-constructor-return": "error",
      "no-eval": "error", "no-implied-eval": "error", "no-new-wrappers": "error",
      "no-self-compare": "error",
      "no-shadow": "error", "no-throw-literal": "error",
      "no-unreachable-loop": "error", "no-unused-expressions": "error",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      "no-use-before-define": ["error", { functions: false, variables: false }],
      "no-useless-concat": "error", "no-useless-return": "error", "no-var": "error",
      "object-shorthand": "error", "prefer-const": "error",
      "prefer-promise-reject-errors": "error", "radix": "error",
    },
  },
  {
    files: ["tests/**/*.mjs"],
    languageOptions: { globals: { ...globals.node } },
    rules: { "max-lines-per-function": "off", "no-shadow": "off" },
  },
];
