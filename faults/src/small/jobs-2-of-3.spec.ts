import { eachThirdPasses } from './jobs.js';

eachThirdPasses(2);
