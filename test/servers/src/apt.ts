// Installs Debian packages without starting the services in them, which would sit on ports 11300 and 6379.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const LOCK = '/run/test-servers-apt.lock';
const LOCK_LIMIT_SECONDS = 900;
const TAIL = 2_000;

/**
 * Its arguments are packages, each with a program of its name. Runs under the lock, so what another process has
 * installed meanwhile is there.
 *
 * policy-rc.d is asked before a package starts its service; 101 says no. An existing one stays as it is, except one
 * of ours that an interrupted run left behind. A failed update is no failure yet: one dead source of many is
 * enough for it, and the lists that are there may do.
 */
const INSTALL = `
set -u
all_there() { for name; do command -v "$name" >/dev/null || return 1; done; }
all_there "$@" && exit 0
policy=/usr/sbin/policy-rc.d
mark='# made by test-servers for the time of one installation'
if [ -f $policy ] && grep -qxF "$mark" $policy; then rm -f $policy; fi
trap 'exit 1' HUP INT TERM
if [ ! -e $policy ] && [ ! -L $policy ]; then
  trap 'rm -f $policy' EXIT
  printf '#!/bin/sh\\n%s\\nexit 101\\n' "$mark" >$policy
  chmod 755 $policy
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
`;

/** Safe if several processes call it at once: one installs, the others wait and find the work done. */
export async function installWithApt(packages: readonly string[]): Promise<void> {
  process.stderr.write(
    `The tests need ${packages.join(' and ')}. As root, they are now installed: apt-get install ${packages.join(' ')}\n`,
  );
  const folder = await mkdtemp(join(tmpdir(), 'test-servers-apt-'));
  try {
    // Output to a file, and a session of its own: were we killed, a broken pipe or Ctrl-C would leave dpkg half done.
    const log = join(folder, 'output.log');
    const output = openSync(log, 'a');
    const script = ['/bin/sh', '-c', INSTALL, 'install', ...packages];
    const child = spawn('flock', ['-o', '-w', String(LOCK_LIMIT_SECONDS), LOCK, ...script], {
      stdio: ['ignore', output, output],
      detached: true,
    });
    closeSync(output);
    const [code] = (await once(child, 'exit')) as [number | null];
    if (code === 0) return;
    const said = (await readFile(log, 'utf8')).slice(-TAIL).trim();
    throw new Error(
      `\`apt-get install ${packages.join(' ')}\` failed; its last output: ${said || `none, after ${LOCK_LIMIT_SECONDS} s of waiting for ${LOCK}`}`,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
