import { defineConfig } from "vite";

// Readable files with fixed names: they are checked in, inside the package of the program that includes them.
export default defineConfig({
  base: "./",
  build: {
    outDir: "../crates/ove-cli/assets/page",
    emptyOutDir: true,
    minify: false,
    modulePreload: false,
    rollupOptions: { output: { entryFileNames: "page.js", assetFileNames: "page[extname]" } },
  },
});
