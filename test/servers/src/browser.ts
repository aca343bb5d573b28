import { chromium, type Browser } from 'playwright-core';
import { ensurePackaged } from './programs.js';

/** Launches a real Chromium without a window; installs it if it is missing, as `ensurePackaged`. As root there is no sandbox for its processes. */
export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: await ensurePackaged('chromium'),
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
}
