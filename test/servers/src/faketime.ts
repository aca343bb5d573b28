// libfaketime: gives a program a wrong time.
import { existsSync, readdirSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { installWithApt } from './apt.js';

/** The package of Debian. It has a program of the same name, and depends on the library. */
const PACKAGE = 'faketime';
const LIBRARIES = '/usr/lib';

/** A clock for programs that are started with its `env`. It jumps while they run. */
export class FakeClock {
  private constructor(
    private readonly library: string,
    private readonly file: string,
  ) {}

  /**
   * The clock is right at first. `file` holds how wrong it is. On Debian and Ubuntu, this installs libfaketime with apt-get
   * if we are root. Undefined if the machine has no libfaketime and this cannot install it.
   */
  static async make(file: string): Promise<FakeClock | undefined> {
    const library = findLibrary() ?? (await install());
    if (library === undefined) return undefined;
    const clock = new FakeClock(library, file);
    await clock.jump(0);
    return clock;
  }

  /** The variables that make a program use this clock. Its monotonic clock stays right. */
  get env(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: this.library,
      FAKETIME_TIMESTAMP_FILE: this.file,
      FAKETIME_NO_CACHE: '1', // so that it reads the file at each call
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** Sets the clock to this number of seconds ahead of the machine's clock; negative: behind. */
  async jump(ahead: number): Promise<void> {
    const next = `${this.file}.next`;
    await writeFile(next, `${ahead < 0 ? '' : '+'}${ahead}s\n`);
    await rename(next, this.file); // so nobody reads a half-written file
  }
}

function findLibrary(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  return [LIBRARIES, ...readdirSync(LIBRARIES).map((folder) => join(LIBRARIES, folder))]
    .map((folder) => join(folder, 'faketime', 'libfaketime.so.1'))
    .find((path) => existsSync(path));
}

async function install(): Promise<string | undefined> {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) return undefined;
  try {
    await installWithApt([PACKAGE]);
  } catch {
    return undefined; // no network, or no such package: the caller works without it
  }
  return findLibrary();
}
