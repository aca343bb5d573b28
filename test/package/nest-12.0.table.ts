import { isCompatible } from './compatibility.js';

isCompatible({
  nest: '12.0',
  typescript: '6.0.3',
  versions: { common: '12.0.1', core: '12.0.1', testing: '12.0.1', 'platform-fastify': '12.0.1' },
  apps: [{ format: 'module', resolution: 'node16', platform: 'fastify' }],
});
