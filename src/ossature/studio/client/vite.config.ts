import { defineConfig } from "vite";

// One script and one style sheet, so that the report can carry both inside a single page.
export default defineConfig({
  build: {
    outDir: "../../report/bundle",
    emptyOutDir: true,
    cssCodeSplit: false,
    chunkSizeWarningLimit: 2000,
    lib: {
      entry: "src/report.ts",
      name: "ossature",
      formats: ["iife"],
      fileName: () => "report.js",
      cssFileName: "report",
    },
  },
});
