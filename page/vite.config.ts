import { defineConfig } from "vite";

// Readable files with fixed names: they are checked in and carried by the program.
export default defineConfig({
  base: "./",
  build: {
    outDir: "dist",
    minify: false,
    modulePreload: false,
    rollupOptions: { output: { entryFileNames: "page.js", assetFileNames: "page[extname]" } },
  },
});
