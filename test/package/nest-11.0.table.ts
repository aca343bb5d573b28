import { isCompatible } from './compatibility.js';

isCompatible({
  nest: '11.0',
  typescript: '5.7.3',
  versions: { common: '11.0.0', core: '11.0.0', testing: '11.0.0' },
  apps: [{ format: 'commonjs', resolution: 'node10', platform: 'context' }],
});
