/** Style sheets are imported for their effect alone; the build takes them out of the scripts. */
declare module "*.css";
