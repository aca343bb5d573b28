// Fails if something that users install has a known vulnerability of severity high or critical. Not every registry tells.
import { spawnSync } from 'node:child_process';

const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--audit-level=high', '--json'], {
  encoding: 'utf8',
});
const { auditReportVersion, vulnerabilities, message } = JSON.parse(stdout);
if (auditReportVersion === undefined) {
  console.log(`not checked: the registry does not support audits (${String(message).split(' - ')[0]})`);
} else {
  // Packages that depend on it are listed, too, as strings.
  const known = Object.values(vulnerabilities).flatMap(({ via }) =>
    via.filter((each) => typeof each === 'object'),
  );
  const bad = known.filter(({ severity }) => severity === 'high' || severity === 'critical');
  for (const { name, severity, title, url } of bad) {
    console.error(`${name} has a vulnerability of ${severity} severity: ${title}, ${url}`);
  }
  if (bad.length > 0) process.exitCode = 1;
  else console.log('npm knows of no high-severity vulnerability in what users install');
}
