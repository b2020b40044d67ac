"""Hadoop's file system of this machine, which starts no process to set the mode of a file.

Without a native library, which Spark does not bring, Hadoop starts `chmod` for each file and folder
that it creates, and `readlink` for each file that it renames: 50 processes for a batch of two
files. Both are one call to the operating system, which Java can make itself.

Relies on `RawLocalFileSystem`, `LocalFileSystem` and `LocalFs`, on the settings by which Hadoop
finds their classes, on its cache of file systems, and on Janino.
"""

from typing import Any

from pyspark.sql import SparkSession

from tidemill.engine.spark_internals.java_object import define_beside

PACKAGE = "org.apache.hadoop.fs.local"
# Files go by the first, checkpoints by the second: each with Hadoop's default, and our class.
SETTINGS = {
    "fs.file.impl": (None, f"{PACKAGE}.ModesInProcessFileSystem"),
    "fs.AbstractFileSystem.file.impl": (f"{PACKAGE}.LocalFs", f"{PACKAGE}.ModesInProcessFs"),
}
# In the order in which Java can verify them.
CLASSES = (
    "ModesInProcess",
    "ModesInProcessFileSystem",
    "RawModesInProcessFs",
    "ModesInProcessFs",
)
# A folder's setgid bit, by which its files get its group, stays, as with `chmod`. What Java cannot
# do is left to Hadoop, whose errors others know. Spark asks whether a file system is a `LocalFs`.
SOURCE = """
package org.apache.hadoop.fs.local;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.AbstractFileSystem;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FsConstants;
import org.apache.hadoop.fs.FsServerDefaults;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

final class ModesInProcess extends RawLocalFileSystem {
  private static final String MODE = "unix:mode";
  private static final int SETUID_AND_SETGID = 06000;
  private static final LinkOption[] FOLLOW = new LinkOption[0];

  public void setPermission(Path path, FsPermission permission) throws IOException {
    try {
      java.nio.file.Path file = pathToFile(path).toPath();
      int mode = permission.toShort();
      if (Files.isDirectory(file, FOLLOW)) {
        mode |= ((Integer) Files.getAttribute(file, MODE, FOLLOW)).intValue() & SETUID_AND_SETGID;
      }
      Files.setAttribute(file, MODE, Integer.valueOf(mode), FOLLOW);
    } catch (Exception failed) {
      super.setPermission(path, permission);
    }
  }

  public FileStatus getFileLinkStatus(Path path) throws IOException {
    boolean isLink = Files.isSymbolicLink(pathToFile(path).toPath());
    return isLink ? super.getFileLinkStatus(path) : getFileStatus(path);
  }
}

public final class ModesInProcessFileSystem extends LocalFileSystem {
  public ModesInProcessFileSystem() {
    super(new ModesInProcess());
  }
}

// As `RawLocalFs`, to which no other file system can be given.
final class RawModesInProcessFs extends DelegateToFileSystem {
  RawModesInProcessFs(Configuration conf) throws IOException, URISyntaxException {
    super(FsConstants.LOCAL_FS_URI, new ModesInProcess(), conf, "file", false);
  }

  public int getUriDefaultPort() {
    return -1;
  }

  public FsServerDefaults getServerDefaults(Path path) throws IOException {
    return LocalConfigKeys.getServerDefaults();
  }

  public FsServerDefaults getServerDefaults() throws IOException {
    return LocalConfigKeys.getServerDefaults();
  }

  public boolean isValidName(String path) {
    return true;
  }
}

public final class ModesInProcessFs extends LocalFs {
  private final AbstractFileSystem raw;

  ModesInProcessFs(URI uri, Configuration conf) throws IOException, URISyntaxException {
    super(uri, conf);
    raw = new RawModesInProcessFs(conf);
  }

  // By which checksums are written, and files renamed.
  protected AbstractFileSystem getMyFs() {
    return raw == null ? super.getMyFs() : raw;
  }

  public void mkdir(Path path, FsPermission permission, boolean parents) throws IOException {
    raw.mkdir(path, permission, parents);
  }

  public void setPermission(Path path, FsPermission permission) throws IOException {
    raw.setPermission(path, permission);
  }

  public FileStatus getFileLinkStatus(Path path) throws IOException {
    return raw.getFileLinkStatus(path);
  }
}
"""


def set_modes_in_process(session: SparkSession) -> None:
    """Let Hadoop set modes by calls of its own, in an application whose executors are this JVM.

    It has to come before any thread works with files. File systems that the user chose stay.

    Args:
        session: Any session of the application.
    """
    jvm: Any = session._jvm
    context: Any = session.sparkContext
    conf = context._jsc.hadoopConfiguration()
    if any(conf.get(key) != usual for key, (usual, _) in SETTINGS.items()):
        return
    # Executors have a class loader and a copy of the settings of their own, and find a class by
    # name where Hadoop's own are.
    define_beside(session, f"{PACKAGE}.LocalFs", SOURCE, CLASSES)
    # Hadoop keeps a file system for all later users; closed, it is made again.
    jvm.org.apache.hadoop.fs.FileSystem.get(jvm.java.net.URI("file:///"), conf).close()
    for key, (_, ours) in SETTINGS.items():
        conf.set(key, ours)
